//! Runs `vectors/nostr-events/event.json`.

use endseal_nostr::event::{Event, ParseError, Rumor, Template};
use endseal_nostr::json::{JsonError, unescape};
use serde_json::json;

use crate::vectors::cases;
use crate::{hex, utf8};

pub(crate) fn json_class(error: JsonError) -> &'static str {
    match error {
        JsonError::Utf8 => "utf8",
        JsonError::Unexpected => "unexpected",
        JsonError::Depth => "depth",
        JsonError::Members => "members",
        JsonError::Duplicate => "duplicate",
        JsonError::Integer => "integer",
        JsonError::Surrogate => "surrogate",
        JsonError::Trailing => "trailing",
        _ => "another",
    }
}

fn class(error: ParseError) -> &'static str {
    match error {
        ParseError::Json(error) => json_class(error),
        ParseError::Missing(_) => "missing",
        ParseError::Hex(_) => "hex",
        ParseError::Signed => "signed",
        _ => "another",
    }
}

#[test]
fn events_are_judged_as_the_vectors_say() {
    for case in cases("event", "event", 85) {
        let input = case.input();
        let parsed = Event::parse_located(&input);
        let outcome = match &parsed {
            Ok((event, _)) => event.verify().map(drop).map_err(|_| "authentication"),
            Err(error) => Err(class(*error)),
        };
        if !case.meets(outcome) {
            continue;
        }
        let (event, place) = parsed.unwrap();
        assert_eq!(hex(&event.id), case.text("id"));
        assert_eq!(hex(&event.pubkey), case.text("pubkey"));
        assert_eq!(json!(event.created_at), *case.value("created_at"));
        assert_eq!(json!(event.kind), *case.value("kind"));
        let tags: Vec<Vec<String>> = event
            .tags
            .iter()
            .map(|tag| tag.values().map(|value| value.to_string()).collect())
            .collect();
        assert_eq!(json!(tags), *case.value("tags"));
        assert!(event.content.is(case.text("content")));
        let mut out = vec![0; 2 * input.len() + 500];
        let written = event.write(&mut out).unwrap();
        assert_eq!(utf8(written), case.text("written"));
        assert_eq!(Event::parse(written), Ok(event));
        // The escapes of the content are removed in place.
        let mut buffer = input.clone();
        let content = &mut buffer[place];
        let len = unescape::in_place(content).unwrap();
        assert_eq!(utf8(&content[..len]), case.text("content"));
    }
}

#[test]
fn rumors_are_judged_as_the_vectors_say() {
    for case in cases("event", "rumor", 4) {
        let input = case.input();
        let rumor = Rumor::parse(&input);
        let outcome = match &rumor {
            Ok(rumor) => rumor.verify_id().map_err(|_| "authentication"),
            Err(error) => Err(class(*error)),
        };
        if case.meets(outcome) {
            let mut out = vec![0; input.len()];
            assert_eq!(utf8(rumor.unwrap().write(&mut out).unwrap()), case.text("written"));
        }
    }
}

#[test]
fn templates_are_judged_as_the_vectors_say() {
    for case in cases("event", "template", 6) {
        let input = case.input();
        let template = Template::parse(&input);
        if case.meets(template.map(drop).map_err(class)) {
            let template = template.unwrap();
            assert_eq!(hex(&template.id(&[0; 32])), case.text("id_of_zero"));
            let pubkey = template.pubkey.map(|pubkey| hex(&pubkey));
            assert_eq!(json!(pubkey), *case.value("pubkey"));
        }
    }
}

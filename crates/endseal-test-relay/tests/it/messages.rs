//! Parsing and writing of messages.

use endseal_nostr::event::Event;
use endseal_relay::message::{
    self, ClientMessage, Filter, MAX_SUBSCRIPTION_LEN, MessageError, RelayMessage,
};
use endseal_testing::SplitMix64;

use super::fixture::*;

fn filters() -> [Filter; 4] {
    [
        Filter::default(),
        filter(&["bob", "carol"]),
        Filter { ids: Some(vec![]), since: Some(0), ..Filter::default() },
        Filter {
            ids: Some(vec![[1; 32], [0xff; 32]]),
            authors: Some(vec![[2; 32]]),
            kinds: Some(vec![0, 65_535]),
            tags: vec![('p', vec![]), ('E', vec!["a\"\n\\é".to_owned(), String::new()])],
            since: Some(1),
            until: Some((1 << 53) - 1),
            limit: Some(10),
        },
    ]
}

#[test]
fn messages_of_clients_are_read_as_they_were_written() {
    let event = message_to("bob", "hello \"world\"");
    let json = str::from_utf8(&event.json).unwrap();
    let (sent, auth) = (message::event(&event.json), message::auth(&event.json));
    assert_eq!(ClientMessage::parse(&sent), Ok(ClientMessage::Event(json)));
    assert_eq!(ClientMessage::parse(&auth), Ok(ClientMessage::Auth(json)));
    let close = ClientMessage::Close("a\"b".into());
    assert_eq!(ClientMessage::parse(&message::close("a\"b")), Ok(close));
    for count in 1..=4 {
        let filters = filters()[..count].to_vec();
        let message = message::request("x", &filters);
        let subscription = "x".into();
        let request = ClientMessage::Request { subscription, filters };
        assert_eq!(ClientMessage::parse(&message), Ok(request));
    }
    assert_eq!(ClientMessage::parse(b"[\"COUNT\",\"x\",{}]"), Ok(ClientMessage::Unknown));
}

#[test]
fn messages_of_relays_are_read_as_they_were_written() {
    let event = message_to("bob", "hello");
    let json = str::from_utf8(&event.json).unwrap();
    let subscription = "s\u{1f600}".into();
    let reason = "error: \"x\"\n".into();
    for (message, expected) in [
        (
            message::deliver("s\u{1f600}", &event.json),
            RelayMessage::Event { subscription, event: json },
        ),
        (message::end_of_stored("s\u{1f600}"), RelayMessage::EndOfStored(subscription)),
        (
            message::result(&event.id, true, "error: \"x\"\n"),
            RelayMessage::Result { id: event.id, accepted: true, reason },
        ),
        (
            message::result(&event.id, false, ""),
            RelayMessage::Result { id: event.id, accepted: false, reason: "".into() },
        ),
        (message::notice("error: \"x\"\n"), RelayMessage::Notice(reason)),
        (
            message::closed("s\u{1f600}", "error: \"x\"\n"),
            RelayMessage::Closed { subscription, reason },
        ),
        (message::challenge("c"), RelayMessage::Challenge("c".into())),
    ] {
        assert_eq!(RelayMessage::parse(&message), Ok(expected));
    }
    // Relays in use omit the reason, add elements and insert spaces.
    let id = hex(&event.id);
    let short = format!(" [ \"OK\" , \"{id}\" , true ] ");
    let expected = RelayMessage::Result { id: event.id, accepted: true, reason: "".into() };
    assert_eq!(RelayMessage::parse(short.as_bytes()), Ok(expected));
    let long = b"[\"EOSE\",\"x\",{\"more\":1}]";
    assert_eq!(RelayMessage::parse(long), Ok(RelayMessage::EndOfStored("x".into())));
    assert_eq!(RelayMessage::parse(b"[\"COUNT\",\"x\",{}]"), Ok(RelayMessage::Unknown));
}

#[test]
fn an_event_is_a_slice_of_its_message() {
    let event = message_to("bob", "hello");
    let message = message::deliver("x", &event.json);
    let RelayMessage::Event { event: json, .. } = RelayMessage::parse(&message).unwrap() else {
        panic!("an event");
    };
    let range = message.as_ptr_range();
    assert!(range.contains(&json.as_ptr()) && json.as_bytes() == event.json);
}

#[test]
fn malformed_messages_are_refused_with_their_cause() {
    let long = format!("[\"CLOSE\",\"{}\"]", "é".repeat(MAX_SUBSCRIPTION_LEN + 1));
    for (message, error) in [
        ("[]", MessageError::Short),
        ("[\"REQ\"]", MessageError::Short),
        ("[\"REQ\",\"x\"]", MessageError::Short),
        ("[\"EVENT\"]", MessageError::Short),
        ("[\"CLOSE\",\"\"]", MessageError::Subscription),
        (&long, MessageError::Subscription),
        ("[\"REQ\",\"x\",{\"ids\":[\"00\"]}]", MessageError::Filter),
    ] {
        assert_eq!(ClientMessage::parse(message.as_bytes()), Err(error), "{message}");
    }
    let values = format!("[\"REQ\",\"x\",{{\"kinds\":[{}0]}}]", "0,".repeat(5_000));
    assert_eq!(ClientMessage::parse(values.as_bytes()), Err(MessageError::Limit));
    let filters = format!("[\"REQ\",\"x\"{}]", ",{}".repeat(21));
    assert_eq!(ClientMessage::parse(filters.as_bytes()), Err(MessageError::Limit));
    for (message, error) in [
        ("[\"OK\",\"00\",true,\"\"]", MessageError::Id),
        ("[\"OK\"]", MessageError::Short),
        ("[\"AUTH\"]", MessageError::Short),
    ] {
        assert_eq!(RelayMessage::parse(message.as_bytes()), Err(error), "{message}");
    }
    for json in
        ["", "x", "{}", "[1]", "[\"EVENT\",\"x\",1]", "[\"NOTICE\",\"x\"", "[\"NOTICE\",\"x\"]]"]
    {
        let error = RelayMessage::parse(json.as_bytes()).unwrap_err();
        assert!(matches!(error, MessageError::Json(_)), "{json}: {error}");
    }
}

#[test]
fn filters_match_what_they_say() {
    let event = event_of("a", 7, 100, &[&["e", "1"], &["p", "2", "3"], &["x"]], "");
    let event = Event::parse(&event.json).unwrap();
    let tag = |letter, values: &[&str]| Filter {
        tags: vec![(letter, values.iter().map(|value| (*value).to_owned()).collect())],
        ..Filter::default()
    };
    for filter in [
        Filter::default(),
        Filter { ids: Some(vec![[0; 32], event.id]), ..Filter::default() },
        Filter { authors: Some(vec![event.pubkey]), ..Filter::default() },
        Filter { kinds: Some(vec![1, 7]), ..Filter::default() },
        Filter { since: Some(100), until: Some(100), limit: Some(0), ..Filter::default() },
        tag('e', &["0", "1"]),
        tag('p', &["2"]),
    ] {
        assert!(filter.matches(&event), "{filter:?}");
    }
    for filter in [
        Filter { ids: Some(vec![]), ..Filter::default() },
        Filter { authors: Some(vec![event.id]), ..Filter::default() },
        Filter { kinds: Some(vec![1]), ..Filter::default() },
        Filter { since: Some(101), ..Filter::default() },
        Filter { until: Some(99), ..Filter::default() },
        tag('e', &["2"]),
        tag('E', &["1"]),
        tag('p', &["3"]),
        tag('p', &[]),
        tag('x', &[""]),
        tag('q', &["2"]),
        Filter {
            tags: [tag('e', &["1"]).tags, tag('p', &["1"]).tags].concat(),
            ..Filter::default()
        },
    ] {
        assert!(!filter.matches(&event), "{filter:?}");
    }
}

/// Parsers must return for any bytes, and an accepted message must keep its meaning when it is
/// written again.
#[test]
fn changed_messages_are_refused_or_mean_what_they_say() {
    let mut random = SplitMix64::new(30);
    let event = message_to("bob", "hello \\ \"world\"");
    let seeds = [
        message::event(&event.json),
        message::auth(&event.json),
        message::close("a"),
        message::request("sub", &filters()),
        message::deliver("sub", &event.json),
        message::end_of_stored("sub"),
        message::result(&event.id, true, "duplicate: x"),
        message::notice("text"),
        message::closed("sub", "auth-required: x"),
        message::challenge("challenge"),
    ];
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..4_000 {
        for seed in &seeds {
            let bytes = random.mutant(seed);
            match ClientMessage::parse(&bytes) {
                Ok(ClientMessage::Request { subscription, filters }) => {
                    accepted += 1;
                    let again = message::request(&subscription.to_string(), &filters);
                    let expected = ClientMessage::Request { subscription, filters };
                    assert_eq!(ClientMessage::parse(&again), Ok(expected));
                }
                Ok(ClientMessage::Event(json) | ClientMessage::Auth(json)) => {
                    assert!(json.starts_with('{') && json.ends_with('}'));
                    accepted += usize::from(Event::parse(json.as_bytes()).is_ok());
                }
                Ok(_) => {}
                Err(_) => refused += 1,
            }
            match RelayMessage::parse(&bytes) {
                Ok(RelayMessage::Result { id, accepted, reason }) => {
                    let again = message::result(&id, accepted, &reason.to_string());
                    let expected = RelayMessage::Result { id, accepted, reason };
                    assert_eq!(RelayMessage::parse(&again), Ok(expected));
                }
                Ok(RelayMessage::Event { event, .. }) => {
                    assert!(event.starts_with('{') && event.ends_with('}'));
                }
                Ok(_) => {}
                Err(_) => refused += 1,
            }
        }
    }
    assert!(accepted > 1_000 && refused > 10_000, "{accepted} {refused}");
}

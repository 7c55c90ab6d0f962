//! Nostr: events, entities and messages of unknown senders.

use endseal_nostr::connect::{Answer, ConnectUri, Request, Response};
use endseal_nostr::entity::{Entity, MAX_DATA};
use endseal_nostr::event::{Event, Rumor, Template};
use endseal_nostr::json::unescape;
use endseal_nostr::key;
use serde_json::Value;

use crate::choice;

/// Fuzzes events: a parsed event must equal that of `serde_json`, and has one form when written.
/// The first byte is the number of bytes by which a buffer is too small.
pub fn nostr_event(data: &[u8]) {
    let (slack, json) = choice(data);
    if let Ok(template) = Template::parse(json) {
        assert_eq!(template.content.unescaped_len(), template.content.to_string().len());
    }
    if let Ok(rumor) = Rumor::parse(json) {
        let mut out = vec![0; 6 * json.len()];
        let written = rumor.write(&mut out).expect("an escape has six bytes at most");
        assert_eq!(Rumor::parse(written), Ok(rumor));
    }
    let Ok((event, place)) = Event::parse_located(json) else { return };
    let value: Value = match serde_json::from_slice(json) {
        Ok(value) => value,
        // Our parser checks only the form of numbers in members that it skips.
        Err(error) => return assert!(error.to_string().contains("number out of range"), "{error}"),
    };
    assert_eq!(value["created_at"], event.created_at);
    assert_eq!(value["kind"], event.kind);
    assert_eq!(value["content"], event.content.to_string());
    let tags: Vec<Vec<String>> =
        event.tags.iter().map(|tag| tag.values().map(|it| it.to_string()).collect()).collect();
    assert_eq!(value["tags"], serde_json::json!(tags));

    let mut buffer = json.to_vec();
    let content = &mut buffer[place];
    let len = unescape::in_place(content).expect("it was valid");
    assert_eq!(str::from_utf8(&content[..len]), Ok(value["content"].as_str().unwrap_or_default()));

    let mut out = vec![0; 6 * json.len()];
    let len = event.write(&mut out).expect("an escape has six bytes at most").len();
    assert_eq!(Event::parse(&out[..len]), Ok(event));
    let array = serde_json::json!([
        0,
        value["pubkey"],
        value["created_at"],
        value["kind"],
        tags,
        value["content"]
    ]);
    let id = endseal_crypto::sha256::digest(array.to_string().as_bytes());
    assert_eq!(event.rumor().template().id(&event.pubkey), id);
    let mut small = vec![0; len.saturating_sub(slack + 1)];
    assert_eq!(event.write(&mut small).map_err(|error| error.needed), Err(len));
    let _ = event.verify();
}

/// Fuzzes entities: an entity has one form when written, which is read as the same entity; so do
/// keys.
pub fn nostr_entity(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let mut buffer = [0; MAX_DATA];
    if let Ok(entity) = Entity::decode(text, &mut buffer) {
        let (mut out, mut again) = (vec![0; 5_100], [0; MAX_DATA]);
        // Records that are ignored are not written, so the result is not longer.
        let written = entity.encode(&mut out).expect("it was read");
        assert!(written.len() <= text.len());
        assert_eq!(Entity::decode(written, &mut again), Ok(entity));
    }
    let _ = Entity::decode_uri(text, &mut buffer);
    if let Ok(key) = key::secret_from_nsec(text) {
        let mut out = [0; key::BECH32_LEN];
        assert_eq!(key::secret_to_nsec(&key, &mut out), Ok(text.to_ascii_lowercase().as_str()));
    }
    if let Ok(key) = key::public_from_npub(text) {
        let mut out = [0; key::BECH32_LEN];
        assert_eq!(key::public_to_npub(&key, &mut out), Ok(text.to_ascii_lowercase().as_str()));
    }
    if let Ok(key) = key::public_from_hex(text) {
        assert_eq!(key::public_to_hex(&key), data);
    }
}

/// Fuzzes messages of remote signing. An even first byte: a URI. An odd one: a message, as a
/// request and as a response.
pub fn nostr_connect(data: &[u8]) {
    let (form, data) = choice(data);
    if form % 2 == 0 {
        return uri(data);
    }
    let mut out = vec![0; 13 * data.len() + 1_000];
    let mut json = data.to_vec();
    if let Ok(request) = Request::parse(&mut json)
        && let Ok(call) = request.call()
    {
        // JSON within JSON: the escape of an escape has seven bytes.
        let written = call.write(request.id, &mut out).expect("it has space").to_vec();
        let mut again = written.clone();
        let Ok(again) = Request::parse(&mut again) else { panic!("not read again") };
        let Ok(call) = again.call() else { panic!("not understood again") };
        assert_eq!((again.id, again.method), (request.id, request.method));
        assert_eq!(call.write(again.id, &mut out), Ok(&mut written.clone()[..]));
    }
    let mut json = data.to_vec();
    if let Ok(response) = Response::parse(&mut json) {
        let written = response.answer.write(response.id, &mut out).expect("it has space");
        let Ok(again) = Response::parse(written) else { panic!("not read again") };
        assert_eq!(again.id, response.id);
        match (again.answer, response.answer) {
            (Answer::Text(a), Answer::Text(b))
            | (Answer::Error(a), Answer::Error(b))
            | (Answer::AuthUrl(a), Answer::AuthUrl(b)) => assert_eq!(a, b),
            (Answer::Text(a), Answer::Unchanged) => assert_eq!(a, "null"),
            _ => panic!("another answer"),
        }
    }
}

fn uri(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let mut buffer = vec![0; text.len()];
    let Ok(uri) = ConnectUri::parse(text, &mut buffer) else { return };
    let write = |uri: &ConnectUri<'_>| {
        let mut out = vec![0; 3 * text.len()];
        let written = match uri {
            ConnectUri::Bunker(uri) => uri.write(&mut out),
            ConnectUri::NostrConnect(uri) => uri.write(&mut out),
        };
        written.expect("an escape has three bytes at most").to_owned()
    };
    let written = write(&uri);
    // Escapes may exceed the limit of a URI.
    let mut buffer = vec![0; written.len()];
    if let Ok(again) = ConnectUri::parse(&written, &mut buffer) {
        assert_eq!(write(&again), written);
    } else {
        assert!(written.len() > endseal_nostr::connect::MAX_URI);
    }
}

//! Runs `vectors/nostr-events/connect.json`, and tests properties of messages that users rely on.

use endseal_nostr::Relays;
use endseal_nostr::connect::{
    Answer, Bunker, Call, CallError, Connect, ConnectSecret, ConnectUri, Message, MessageError,
    Metadata, NostrConnect, Permissions, Request, Response, UriError,
};
use endseal_nostr::event::{Event, Tags, Template};
use endseal_nostr::json::Text;
use serde_json::{Value, json};

use crate::event_vectors::json_class;
use crate::vectors::{Case, cases};
use crate::{hex, signing_key, utf8};

fn uri_class(error: UriError) -> &'static str {
    match error {
        UriError::Length => "length",
        UriError::Scheme => "scheme",
        UriError::Character => "character",
        UriError::Key(_) => "key",
        UriError::Encoding => "encoding",
        UriError::Relay => "relay",
        UriError::Secret => "secret",
        UriError::Duplicate => "duplicate",
        UriError::NoRelay | UriError::NoSecret => "missing",
        _ => "another",
    }
}

fn message_class(error: MessageError) -> &'static str {
    match error {
        MessageError::Json(error) => json_class(error),
        MessageError::Missing => "missing",
        _ => "another",
    }
}

fn call_class(error: CallError) -> &'static str {
    match error {
        CallError::Method => "method",
        CallError::Params | CallError::Surrogate => "params",
        CallError::Length => "length",
        CallError::Key(_) => "key",
        CallError::Event(_) => "event",
        CallError::Secret => "secret",
        _ => "another",
    }
}

/// Returns the fields of a URI as vectors have them.
fn fields(uri: &ConnectUri<'_>) -> Value {
    let texts = |relays: &Relays<'_>| relays.iter().map(str::to_owned).collect::<Vec<_>>();
    let text = |text: Option<Text<'_>>| json!(text.map(|text| text.to_string()));
    match uri {
        ConnectUri::Bunker(uri) => json!({
            "key": hex(&uri.signer.to_bytes()),
            "relays": texts(&uri.relays),
            "ignored_relays": uri.ignored_relays,
            "secret": uri.secret.as_ref().map(|secret| secret.expose_secret()),
        }),
        ConnectUri::NostrConnect(uri) => json!({
            "key": hex(&uri.client.to_bytes()),
            "relays": texts(&uri.relays),
            "ignored_relays": uri.ignored_relays,
            "secret": uri.secret.expose_secret(),
            "permissions": uri.permissions.as_str(),
            "name": text(uri.metadata.name),
            "url": text(uri.metadata.url),
            "image": text(uri.metadata.image),
        }),
    }
}

#[test]
fn uris_are_judged_as_the_vectors_say() {
    for case in cases("connect", "uri", 35) {
        let text = case.text("input");
        let mut buffer = vec![0; text.len()];
        let uri = ConnectUri::parse(text, &mut buffer);
        if !case.meets(uri.as_ref().map(|_| ()).map_err(|error| uri_class(*error))) {
            continue;
        }
        let uri = uri.unwrap_or_else(|error| panic!("{error}"));
        for (name, value) in fields(&uri).as_object().unwrap() {
            assert_eq!(value, case.value(name), "{name} of {text}");
        }
        let mut out = [0; 1_000];
        let written = match &uri {
            ConnectUri::Bunker(uri) => uri.write(&mut out),
            ConnectUri::NostrConnect(uri) => uri.write(&mut out),
        };
        let written = written.unwrap();
        let (_, query) = written.split_once('?').unwrap();
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-._%=&".contains(c);
        assert!(query.chars().all(allowed), "other clients refuse {written}");
        let mut buffer = vec![0; written.len()];
        let again =
            ConnectUri::parse(written, &mut buffer).unwrap_or_else(|error| panic!("{error}"));
        let mut read = fields(&uri);
        read["ignored_relays"] = 0.into();
        assert_eq!(fields(&again), read);
    }
}

#[test]
fn decoded_secrets_do_not_stay_in_the_buffer() {
    let key = hex(&signing_key().public_key().to_bytes());
    for secret in ["marked-secret", "marked%2Dsecret"] {
        let uri = format!("bunker://{key}?secret={secret}&relay=wss://r.x");
        let mut buffer = vec![0; uri.len()];
        assert!(ConnectUri::parse(&uri, &mut buffer).is_ok());
        assert!(!buffer.windows(6).any(|it| it == b"marked"));
        assert!(matches!(ConnectUri::parse(&uri, &mut buffer[1..]), Err(UriError::Output(_))));
    }
}

#[test]
fn all_that_was_built_is_read_back() {
    let key = signing_key();
    let relays = ["wss://a.b/c?d=e&f", "ws://x"];
    let uri = NostrConnect {
        client: *key.public_key(),
        relays: Relays::new(&relays),
        ignored_relays: 0,
        secret: ConnectSecret::new("a&b=c+d %é").unwrap(),
        permissions: Permissions::new("ping,sign_event:1"),
        metadata: Metadata {
            name: Some("My & Client+".into()),
            url: None,
            image: Some("x".into()),
        },
    };
    let mut out = [0; 500];
    let text = uri.write(&mut out).unwrap().to_owned();
    let mut buffer = vec![0; text.len()];
    let Ok(ConnectUri::NostrConnect(again)) = ConnectUri::parse(&text, &mut buffer) else {
        panic!("another URI")
    };
    assert!(again.secret == uri.secret && again.client == uri.client);
    assert_eq!((again.relays, again.permissions), (uri.relays, uri.permissions));
    assert_eq!(again.metadata, uri.metadata);
    let len = text.len();
    let error = uri.write(&mut out[..len - 1]).unwrap_err();
    assert_eq!((error.needed, &out[..len - 1]), (len, &vec![0; len - 1][..]));
    let bunker =
        Bunker { signer: *key.public_key(), relays: uri.relays, ignored_relays: 0, secret: None };
    assert!(!bunker.write(&mut out).unwrap().contains("secret"));
}

/// Parses a request, compares its fields, and writes it again.
fn judge(case: &Case) {
    let mut input = case.input();
    let request = match Request::parse(&mut input) {
        Ok(request) => request,
        Err(error) => {
            assert!(!case.meets(Err(message_class(error))));
            return;
        }
    };
    assert_eq!(request.id, case.text("id"), "every one with an id can be answered");
    match request.call() {
        Err(error) => {
            assert!(!case.meets(Err(call_class(error))));
            assert!(!error.to_string().is_empty());
        }
        Ok(call) => {
            assert!(case.meets(Ok(())));
            assert_eq!(request.method.name(), case.text("method"));
            assert_eq!(call.method(), request.method);
            let mut out = [0; 1_000];
            assert_eq!(utf8(call.write(request.id, &mut out).unwrap()), case.text("written"));
        }
    }
}

#[test]
fn requests_are_judged_as_the_vectors_say() {
    cases("connect", "request", 45).iter().for_each(judge);
}

#[test]
fn responses_are_judged_as_the_vectors_say() {
    for case in cases("connect", "response", 20) {
        let mut input = case.input();
        let response = Response::parse(&mut input);
        if !case.meets(response.as_ref().map(|_| ()).map_err(|error| message_class(*error))) {
            continue;
        }
        let Ok(Response { id, answer, .. }) = response else { continue };
        let (kind, value) = match answer {
            Answer::Text(text) => ("text", text),
            Answer::Unchanged => ("unchanged", ""),
            Answer::Error(error) => ("error", error),
            Answer::AuthUrl(url) => ("auth_url", url),
            _ => ("another", ""),
        };
        assert_eq!((id, kind, value), (case.text("id"), case.text("answer"), case.text("value")));
        let mut out = [0; 200];
        assert_eq!(utf8(answer.write(id, &mut out).unwrap()), case.text("written"));
    }
}

#[test]
fn calls_are_read_as_they_were_written() {
    let key = signing_key();
    let signer = hex(&key.public_key().to_bytes());
    let connect = Call::Connect(Connect {
        signer: &signer,
        secret: Some(ConnectSecret::new("a \"b\"").unwrap()),
        permissions: Permissions::new(""),
        metadata: Metadata { name: Some("\"é\"\n".into()), ..Metadata::default() },
    });
    let mut out = [0; 500];
    let json = connect.write("1", &mut out).unwrap();
    let Ok(Call::Connect(again)) = Request::parse(json).unwrap_or_else(|e| panic!("{e}")).call()
    else {
        panic!("another call")
    };
    assert_eq!(again.signer, signer);
    assert!(again.secret == Some(ConnectSecret::new("a \"b\"").unwrap()));
    assert!(again.metadata.name.unwrap().is("\"é\"\n"));

    let tags: &[&[&str]] = &[&["t", "\""]];
    let template = Template {
        pubkey: Some(key.public_key().to_bytes()),
        created_at: 1,
        kind: 4,
        tags: Tags::List(tags),
        content: "\\ \"é\"\n".into(),
    };
    let json = Call::SignEvent(template).write("1", &mut out).unwrap();
    let Ok(Call::SignEvent(again)) = Request::parse(json).unwrap_or_else(|e| panic!("{e}")).call()
    else {
        panic!("another call")
    };
    assert_eq!(again, template);

    let message = Message { peer: *key.public_key(), text: "a\u{1}\"b" };
    let json = Call::Nip04Encrypt(message).write("1", &mut out).unwrap();
    let request = Request::parse(json).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(request.params(), [signer.as_str(), "a\u{1}\"b"]);
}

#[test]
fn answers_are_read_as_they_were_written() {
    let template = Template {
        pubkey: None,
        created_at: 1,
        kind: 1,
        tags: Tags::NONE,
        content: "\"é\"\n".into(),
    };
    let event = template.sign(&signing_key(), &[0; 32]).unwrap();
    let mut out = [0; 700];
    let json = Answer::Event(&event).write("id", &mut out).unwrap();
    let Ok(Response { answer: Answer::Text(text), .. }) = Response::parse(json) else {
        panic!("no text")
    };
    assert_eq!(Event::parse(text.as_bytes()), Ok(event));

    let relays = ["wss://a", "wss://b?\"c\""];
    let json = Answer::Relays(Relays::new(&relays)).write("id", &mut out).unwrap();
    let Ok(Response { answer: Answer::Text(text), .. }) = Response::parse(json) else {
        panic!("no text")
    };
    assert_eq!(serde_json::from_str::<Vec<String>>(text).unwrap(), relays);

    let error = Answer::Text("ack").write("id", &mut out[..10]).unwrap_err();
    assert_eq!(error.needed, r#"{"id":"id","result":"ack"}"#.len());
}

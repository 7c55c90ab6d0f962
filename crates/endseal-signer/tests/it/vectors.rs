//! Tests with the vectors in `vectors/signer/`.

use std::path::Path;
use std::{env, fs};

use endseal_crypto::random::OsRandom;
use endseal_signer::{
    App, AppState, Flow, LogHead, LogLine, RecordError, RuleRecord, Settings, User, VerifyError,
    verify_log,
};
use endseal_store::{Protection, Store};
use endseal_testing::Scratch;
use serde_json::{Value, json};

#[test]
fn every_vector_is_accepted_or_refused_as_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/signer");
    let mut counts = [0, 0];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let vector: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let found = if vector["kind"] == "chain" { chain(&vector) } else { record(&vector) };
        let (expect, fields) = match found {
            Ok(fields) => ("ok", fields),
            Err((code, fields)) => (code, fields),
        };
        assert_eq!(vector["expect"], expect, "{}", path.display());
        for (field, value) in fields.as_object().unwrap() {
            // Vectors of refused records have no fields.
            assert_eq!(&vector[field], value, "{field} of {}", path.display());
        }
        counts[usize::from(expect == "ok")] += 1;
    }
    assert!(counts[0] > 80 && counts[1] > 20, "{counts:?}");
}

/// Decoded fields of a valid vector, or error class and fields of a refused one.
type Found = Result<Value, (&'static str, Value)>;

fn record(vector: &Value) -> Found {
    let (name, value) = (bytes(&vector["name"]), bytes(&vector["value"]));
    let read = match vector["kind"].as_str().unwrap() {
        "settings" => Settings::from_bytes(&value).map(|it| settings(&it, &value)),
        "user" => User::from_bytes(&name, &value).map(|it| user(&it, &value)),
        "app" => App::from_bytes(&name, &value).map(|it| app(&it, &value)),
        "rule" => RuleRecord::from_bytes(&name, &value).map(|(transport, it)| {
            assert_eq!(RuleRecord::record_name(&transport, it.number()), *name);
            assert_eq!(it.to_bytes(), *value);
            json!({ "number": it.number() })
        }),
        "line" => LogLine::from_bytes(&name, &value).map(|it| line(&it, &value)),
        "head" => LogHead::from_bytes(&value).map(|it| {
            assert_eq!(*it.to_bytes(), value);
            json!({ "number": it.number })
        }),
        other => panic!("a record of kind {other}"),
    };
    read.map_err(|error: RecordError| (error.code(), json!({})))
}

fn settings(it: &Settings, value: &[u8]) -> Value {
    assert_eq!(**it.to_bytes(), *value);
    let relays: Vec<_> = it.relays.iter().map(|relay| relay.as_str()).collect();
    json!({
        "floor": it.floor, "first_line": it.first_line, "next_app": it.next_app, "relays": relays,
        "refuses_nip04": it.refuses_nip04,
    })
}

fn user(it: &User, value: &[u8]) -> Value {
    assert_eq!(**it.to_bytes(), *value);
    // The second key is there while the passphrase changes.
    assert!(it.open("correct").is_ok_and(|key| key.public_key() == it.key()));
    json!({ "made": it.made(), "label": it.label().as_str() })
}

fn app(it: &App, value: &[u8]) -> Value {
    assert_eq!(**it.to_bytes(), *value);
    let (state, ended) = match *it.state() {
        AppState::Invited => (1, 0),
        AppState::Paired { .. } => (2, 0),
        AppState::Revoked { ended, .. } => (3, ended),
        AppState::LoggedOut { ended, .. } => (4, ended),
    };
    let (flow, until) = match *it.flow() {
        Flow::Bunker { until } => (1, until),
        Flow::NostrConnect => (2, 0),
    };
    let relays: Vec<_> = it.relays().iter().map(|relay| relay.as_str()).collect();
    json!({
        "number": it.number(), "state": state, "flow": flow, "invitation_expires": until,
        "ended": ended, "app_name": it.name.as_str(), "claimed_name": it.claimed_name.as_str(),
        "claimed_url": it.claimed_url.as_str(), "relays": relays,
        "flags": u8::from(it.is_legacy) + 2 * u8::from(it.is_at_user_key), "wishes": it.wishes(),
    })
}

fn line(it: &LogLine, value: &[u8]) -> Value {
    assert_eq!(**it.to_bytes(), *value);
    let entry = &it.entry;
    json!({
        "number": it.number, "time": entry.time, "matter": entry.matter.code(), "app": entry.app,
        "rule": entry.rule, "verdict": entry.verdict.code(), "method": entry.method.code(),
        "event_kind": entry.kind, "created_at": entry.created_at, "text": entry.text.as_str(),
    })
}

/// Writes the log of a vector into a store and verifies it.
fn chain(vector: &Value) -> Found {
    let folder = Scratch::new();
    let directory = folder.path("store");
    let mut store = Store::create(&directory, Protection::None, &mut OsRandom).unwrap();
    let transaction = store.begin().unwrap();
    for line in vector["lines"].as_array().unwrap() {
        transaction.put_record(5, &bytes(&line[0]), &bytes(&line[1])).unwrap();
    }
    if !vector["head"].is_null() {
        transaction.put_record(6, &[], &bytes(&vector["head"])).unwrap();
    }
    if !vector["start"].is_null() {
        transaction.put_record(7, &[], &bytes(&vector["start"])).unwrap();
    }
    transaction.commit().unwrap();
    let noted = vector["noted"].as_array().map(|noted| {
        let hash = bytes(&noted[1]).try_into().unwrap();
        LogHead::new(noted[0].as_u64().unwrap(), hash)
    });
    match verify_log(&store.read().unwrap(), noted.as_ref()) {
        Ok(head) => {
            let hash: String = head.hash.iter().map(|byte| format!("{byte:02x}")).collect();
            Ok(json!({ "number": head.number, "hash": hash }))
        }
        Err(VerifyError::Broken(broken)) => Err((broken.fault.code(), json!({ "at": broken.at }))),
        Err(error) => panic!("{error}"),
    }
}

pub(crate) fn bytes(hex: &Value) -> Vec<u8> {
    let (pairs, []) = hex.as_str().unwrap().as_bytes().as_chunks::<2>() else { panic!("{hex}") };
    let byte = |pair: &[u8; 2]| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16);
    pairs.iter().map(|pair| byte(pair).unwrap()).collect()
}

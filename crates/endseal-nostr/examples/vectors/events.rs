//! Vectors of docs/spec/nostr-events.md: four files, each a list of cases.

#[path = "events/connect.rs"]
mod connect;
#[path = "events/entity.rs"]
mod entity;
#[path = "events/event.rs"]
mod event;
#[path = "events/key.rs"]
mod key;
#[path = "events/published.rs"]
mod published;
#[path = "events/raw_bech32.rs"]
mod raw_bech32;

use std::fs;
use std::path::Path;

use endseal_nostr::key::{SecretKey, SigningKey};
use serde_json::{Value, json};

pub(crate) fn write(dir: &Path) {
    let folder = dir.join("nostr-events");
    fs::create_dir_all(&folder).expect("the output directory can be made");
    for (name, cases) in [
        ("event", event::cases()),
        ("key", key::cases()),
        ("entity", entity::cases()),
        ("connect", connect::cases()),
    ] {
        let text = serde_json::to_string_pretty(&cases).expect("vectors are JSON");
        fs::write(folder.join(format!("{name}.json")), text + "\n").expect("it can be written");
    }
}

/// The key that signs.
pub(super) fn signing_key() -> SigningKey {
    SigningKey::new(SecretKey::from_bytes(&[3; 32]).expect("in range"))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn public_key() -> String {
    hex(&signing_key().public_key().to_bytes())
}

/// A case that fails.
pub(super) fn refused(form: &str, expect: &str, comment: &str, input: impl Into<Value>) -> Value {
    json!({"form": form, "expect": expect, "comment": comment, "input": input.into()})
}

/// A case that succeeds; `fields` is an object.
pub(super) fn accepted(form: &str, comment: &str, input: impl Into<Value>, fields: Value) -> Value {
    let mut case = refused(form, "ok", comment, input);
    let (Value::Object(case_fields), Value::Object(fields)) = (&mut case, fields) else {
        unreachable!("both are objects");
    };
    case_fields.extend(fields);
    case
}

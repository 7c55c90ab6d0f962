//! Vectors of docs/spec/nostr-events.md: four files, each a list of cases.

#[path = "events/connect.rs"]
mod connect;
#[path = "events/entity.rs"]
mod entity;
#[path = "events/event.rs"]
mod event;
#[path = "events/key.rs"]
pub(crate) mod key;
#[path = "events/published.rs"]
mod published;
#[path = "events/raw_bech32.rs"]
mod raw_bech32;

use std::fs;
use std::path::Path;

use endseal_nostr::key::{SecretKey, SigningKey};
pub(crate) use endseal_testing::hex;
use serde_json::{Value, json};

pub(crate) fn write(dir: &Path) {
    let files = [
        ("event", event::cases()),
        ("key", key::cases()),
        ("entity", entity::cases()),
        ("connect", connect::cases()),
    ];
    write_cases(&dir.join("nostr-events"), files);
}

/// Writes a file for each list of cases.
pub(crate) fn write_cases<const N: usize>(folder: &Path, files: [(&str, Vec<Value>); N]) {
    fs::create_dir_all(folder).expect("the output directory can be made");
    for (name, cases) in files {
        let text = serde_json::to_string_pretty(&cases).expect("vectors are JSON");
        fs::write(folder.join(format!("{name}.json")), text + "\n").expect("it can be written");
    }
}

/// Returns the key that signs the vectors.
pub(crate) fn signing_key() -> SigningKey {
    SigningKey::new(SecretKey::from_bytes(&[3; 32]).expect("in range"))
}

pub(crate) fn public_key() -> String {
    hex(&signing_key().public_key().to_bytes())
}

/// Returns a case that must be refused.
pub(crate) fn refused(form: &str, expect: &str, comment: &str, input: impl Into<Value>) -> Value {
    json!({"form": form, "expect": expect, "comment": comment, "input": input.into()})
}

/// Returns a case that must be accepted. `fields` is an object.
pub(crate) fn accepted(form: &str, comment: &str, input: impl Into<Value>, fields: Value) -> Value {
    let mut case = refused(form, "ok", comment, input);
    let (Value::Object(case_fields), Value::Object(fields)) = (&mut case, fields) else {
        unreachable!("both are objects");
    };
    case_fields.extend(fields);
    case
}

//! Runs all vectors of docs/spec/transport.md.

use std::fs;
use std::path::Path;

use endseal_crypto::mldsa65;
use endseal_transport::{PeerId, Prefix, PrefixError, StreamType};
use serde_json::{Value, json};

/// Result of a vector: its expected outputs, or the class of its error.
type Outcome = Result<Vec<(&'static str, Value)>, &'static str>;

/// Returns all vectors with their names.
fn all() -> Vec<(String, Value)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/transport");
    let read = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        let vector = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        (path.display().to_string(), vector)
    };
    fs::read_dir(&path).unwrap().map(read).collect()
}

/// Vectors of kind `early`, which need a connection and are run in `early.rs`.
pub(crate) fn early() -> Vec<(String, Value)> {
    let mut early = all();
    early.retain(|(_, vector)| vector["kind"] == "early");
    assert!(early.len() >= 8, "{} vectors", early.len());
    early
}

#[test]
fn transport_vectors() {
    let mut count = 0;
    for (name, vector) in all().into_iter().filter(|(_, vector)| vector["kind"] != "early") {
        let expected = vector["expect"].as_str();
        match read(&vector) {
            Err(class) => assert_eq!(Some(class), expected, "{name}"),
            Ok(outputs) => {
                assert_eq!(Some("ok"), expected, "{name}");
                for (field, value) in outputs {
                    assert_eq!(vector[field], value, "{field} of {name}");
                }
            }
        }
        count += 1;
    }
    assert!(count >= 30, "{count} vectors");
}

fn read(vector: &Value) -> Outcome {
    match vector["kind"].as_str().unwrap() {
        "spki" => {
            let spki = unhex(&vector["spki"]);
            mldsa65::PublicKey::from_spki(&spki).map_err(|_| "spki")?;
            Ok(vec![("peer_id", hex(PeerId::of_spki(&spki).as_bytes()))])
        }
        "prefix" => {
            let expected = match vector["expected"].as_u64().unwrap() {
                0 => StreamType::Control,
                1 => StreamType::Message,
                _ => StreamType::Exchange,
            };
            let decoded = Prefix::decode(&unhex(&vector["bytes"]), expected);
            let (prefix, length) =
                decoded.map_err(|error: PrefixError| error.code())?.ok_or("truncated")?;
            let max = match prefix {
                Prefix::Control { max_payload } => json!(max_payload),
                _ => Value::Null,
            };
            Ok(vec![("length", json!(length)), ("max_payload", max)])
        }
        other => panic!("kind {other}"),
    }
}

pub(crate) fn unhex(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap();
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..][..2], 16).unwrap()).collect()
}

pub(crate) fn hex(bytes: &[u8]) -> Value {
    json!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

//! All vectors of docs/spec/transport.md.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use endseal_crypto::mldsa65;
use endseal_transport::{Flags, Frame, PeerId, Prefix, PrefixError, ReplayWindow, StreamType};
use serde_json::{Value, json};

/// What a reader makes of a vector: the outputs it states, or the class of the error.
type Outcome = Result<Vec<(&'static str, Value)>, &'static str>;

#[test]
fn transport_vectors() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/transport");
    let mut count = 0;
    for entry in fs::read_dir(&path).unwrap() {
        let path = entry.unwrap().path();
        let vector: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let expected = vector["expect"].as_str();
        match read(&vector) {
            Err(class) => assert_eq!(Some(class), expected, "{}", path.display()),
            Ok(outputs) => {
                assert_eq!(Some("ok"), expected, "{}", path.display());
                for (field, value) in outputs {
                    assert_eq!(vector[field], value, "{field} of {}", path.display());
                }
            }
        }
        count += 1;
    }
    assert!(count >= 45, "{count} vectors");
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
        "frame" | "early" => {
            let max = u32::try_from(vector["max_payload"].as_u64().unwrap()).unwrap();
            let decoded = Frame::decode(&Bytes::from(unhex(&vector["bytes"])), max);
            let (frame, length) = decoded.map_err(|error| error.code())?.ok_or("truncated")?;
            if vector["kind"] == "early" && !frame.flags.contains(Flags::IDEMPOTENT) {
                return Err("early");
            }
            Ok(vec![
                ("frame_kind", json!(frame.kind.as_u8())),
                ("idempotent", json!(frame.flags.contains(Flags::IDEMPOTENT))),
                ("sealed", json!(frame.flags.contains(Flags::SEALED))),
                // As text: beyond 2^53 numbers of JSON are not the same everywhere.
                ("sequence", json!(frame.sequence.to_string())),
                ("payload", hex(&frame.payload)),
                ("length", json!(length)),
            ])
        }
        "replay" => {
            let mut window = ReplayWindow::new();
            let sequences = vector["sequences"].as_str().unwrap();
            let mut last = Ok(());
            for sequence in sequences.split(' ') {
                last = window.accept(sequence.parse().unwrap());
            }
            last.map(|()| Vec::new()).map_err(|error| error.code())
        }
        other => panic!("kind {other}"),
    }
}

fn unhex(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap();
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..][..2], 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> Value {
    json!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

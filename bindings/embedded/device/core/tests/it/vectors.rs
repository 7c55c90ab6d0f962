//! `vectors/signer-device/`: records, and lines with their answers.

use endseal_device::Record;
use serde_json::Value;

use crate::board::{Rig, TestFlash};

fn vectors(name: &str) -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../vectors/signer-device");
    let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let vectors = file["vectors"].as_array().unwrap().clone();
    assert!(vectors.len() > 5);
    vectors
}

fn bytes(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn records_are_read_and_written() {
    for vector in vectors("records") {
        let value: [u8; Record::LEN] = bytes(&vector["record"]).try_into().unwrap();
        let read = Record::read(&value);
        match vector["expect"].as_str().unwrap() {
            "ok" => {
                let record = read.expect("a record");
                assert_eq!(u64::from(record.sequence), vector["sequence"].as_u64().unwrap());
                assert_eq!(record.confirmation.name(), vector["confirmation"].as_str().unwrap());
                assert_eq!(record.key.is_some(), vector["key"].is_string());
                if let Some(key) = &record.key {
                    assert_eq!(key.expose_secret().to_vec(), bytes(&vector["key"]));
                }
                let mut written = [0; Record::LEN];
                record.write(&mut written);
                assert_eq!(written, value);
            }
            _ => assert!(read.is_err(), "{}", vector["name"]),
        }
    }
}

#[test]
fn lines_have_their_answers() {
    for vector in vectors("lines") {
        let mut rig = Rig::start(&TestFlash::new());
        if let Some(key) = vector["key"].as_str() {
            rig.call("import_key", &[key]).unwrap();
        }
        let answer = rig.send(format!("{}\n", vector["line"].as_str().unwrap()).as_bytes());
        assert_eq!(answer.trim_end(), vector["answer"].as_str().unwrap(), "{}", vector["name"]);
        let has_error = vector["answer"].as_str().unwrap().contains("\"error\"");
        assert_eq!(has_error, vector["expect"] != "ok", "{}", vector["name"]);
    }
}

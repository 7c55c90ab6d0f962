//! Runs the test vectors of docs/spec/s3-key-ring.md.

use base64ct::{Base64, Encoding as _};
use endseal_keyring::{KdfParams, Passphrase};
use endseal_kms::ring::{OpenRingError, ParseRingError, ParsedRing};
use endseal_kms::{Ring, RingProvider};
use endseal_testing::hex;
use serde_json::Value;

use super::*;

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..][..2], 16).unwrap()).collect()
}

fn class(error: ParseRingError) -> &'static str {
    match error {
        ParseRingError::Check { .. } => "check",
        ParseRingError::Duplicate { .. } => "duplicate",
        ParseRingError::Form { .. } => "form",
        ParseRingError::Kdf(_) | ParseRingError::KeyCount | ParseRingError::TooLong => "limit",
        ParseRingError::Version => "version",
        other => panic!("{other:?}"),
    }
}

fn read(file: &str, passphrase: Option<&str>) -> Result<Ring, &'static str> {
    match ParsedRing::parse(file.as_bytes()).map_err(class)? {
        ParsedRing::Open(ring) => Ok(ring),
        ParsedRing::Sealed(sealed) => {
            let passphrase = Passphrase::new(passphrase.unwrap()).ok().unwrap();
            sealed.open(&passphrase).map_err(|error| match error {
                OpenRingError::Authentication => "authentication",
                OpenRingError::Parse(error) => class(error),
                other => panic!("{other:?}"),
            })
        }
    }
}

async fn unwrapped(ring: Ring, vector: &Value) -> Result<String, &'static str> {
    let provider = RingProvider::new(ring);
    let text = |name: &str| vector[name].as_str().unwrap();
    let (context, wrapped) = (unhex(text("context")), unhex(text("wrapped")));
    match provider.unwrap(&id(text("key-id")), &context, &wrapped).await {
        Ok(key) => Ok(hex(key.expose_secret())),
        Err(ProviderError::AuthenticationFailed) => Err("authentication"),
        Err(ProviderError::UnknownKey) => Err("unknown"),
        Err(other) => panic!("{other:?}"),
    }
}

/// Returns ids, times and keys of a ring, as a vector has them.
fn shown(ring: &Ring) -> [String; 3] {
    let text = ring.to_open_text();
    let column = |at: usize| -> Vec<String> {
        text.lines().skip(2).map(|line| line.split(' ').nth(at).unwrap().to_owned()).collect()
    };
    let keys: Vec<_> = column(3).iter().map(|key| hex(&Base64::decode_vec(key).unwrap())).collect();
    [column(1).join(" "), column(2).join(" "), keys.join(" ")]
}

#[tokio::test]
async fn every_vector_ends_as_it_says() {
    let folder = format!("{}/../../vectors/s3-key-ring", env!("CARGO_MANIFEST_DIR"));
    let (mut ok, mut refused) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let vector: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let expect = vector["expect"].as_str().unwrap();
        let ring = read(vector["file"].as_str().unwrap(), vector["passphrase"].as_str());
        let wraps = vector.get("wrapped").is_some();
        let outcome = match ring {
            Ok(ring) if wraps => unwrapped(ring, &vector).await.map(|key| {
                assert_eq!(key, vector["content-key"], "{path:?}");
            }),
            Ok(ring) => {
                let names = ["ids", "times", "keys"];
                for (name, own) in names.into_iter().zip(shown(&ring)) {
                    assert_eq!(own, vector[name], "{path:?}");
                }
                Ok(())
            }
            Err(class) => Err(class),
        };
        assert_eq!(outcome.err().unwrap_or("ok"), expect, "{path:?}");
        if expect == "ok" { ok += 1 } else { refused += 1 }
    }
    assert!(ok >= 8 && refused >= 50, "{ok} {refused}");
}

#[test]
fn the_sealed_vector_is_what_the_sealer_writes() {
    let path =
        format!("{}/../../vectors/s3-key-ring/sealed-minimum.json", env!("CARGO_MANIFEST_DIR"));
    let vector: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let (file, passphrase) =
        (vector["file"].as_str().unwrap(), vector["passphrase"].as_str().unwrap());
    let ring = read(file, Some(passphrase)).unwrap_or_else(|class| panic!("{class}"));
    let passphrase = Passphrase::new(passphrase).ok().unwrap();
    let written = endseal_kms::ring::hazmat::seal_ring(
        &ring,
        &passphrase,
        KdfParams::MINIMUM,
        &[0xa1; 16],
        &[0xb2; 24],
    );
    assert_eq!(written.as_deref(), Ok(file));
}

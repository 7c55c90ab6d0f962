//! Vectors of the description of an upload in a parked part.

use std::path::Path;

use endseal_crypto::hash;
use endseal_crypto::label::S3_PARKED;
use endseal_testing::{Vector, hex};

use super::{KEY, base64};

const BACKEND: &str = "2~backend-upload-id";

fn entry(key_len: u16, key: &[u8], backend: &[u8]) -> Vec<u8> {
    [&key_len.to_be_bytes()[..], key, backend].concat()
}

/// Returns the name of an upload's folders.
pub(super) fn id(backend: &str) -> String {
    let mut id = [0; 16];
    hash::derive_into(S3_PARKED, &[backend.as_bytes()], &mut id);
    hex(&id)
}

fn folder(backend: &str) -> String {
    format!(".endseal/parked/{}/", id(backend))
}

pub(super) fn write(dir: &Path) {
    let vector = |scenario: &str, comment: &str, expect: &str, metadata: &str| {
        Vector::new(scenario, comment, expect)
            .with("kind", "parked-upload")
            .with("metadata", metadata)
    };
    let good = entry(10, KEY.as_bytes(), BACKEND.as_bytes());
    let long = "k".repeat(1_024);
    for (scenario, comment, key, backend) in [
        ("parked", "of an upload", KEY, BACKEND),
        ("parked-shortest", "a key and an upload id of one byte", "k", "i"),
        ("parked-longest-key", "a key of 1,024 bytes", &long, BACKEND),
    ] {
        let bytes = entry(u16::try_from(key.len()).unwrap(), key.as_bytes(), backend.as_bytes());
        vector(scenario, comment, "ok", &base64(&bytes))
            .with("upload-key", key)
            .with("backend-upload-id", backend)
            .with("folder", &folder(backend))
            .write(dir);
    }
    for (scenario, comment, bytes) in [
        ("parked-nothing", "nothing", Vec::new()),
        ("parked-one-byte", "half a length", vec![0]),
        ("parked-no-key", "an empty key", entry(0, b"", BACKEND.as_bytes())),
        ("parked-no-upload", "an empty upload id", entry(10, KEY.as_bytes(), b"")),
        (
            "parked-length",
            "a key longer than all that follows",
            entry(30, KEY.as_bytes(), b"upload"),
        ),
        ("parked-key-text", "a key that is no UTF-8", entry(1, &[0xff], BACKEND.as_bytes())),
        (
            "parked-key-half",
            "a key that ends in a letter",
            entry(1, "\u{e4}".as_bytes(), b"upload"),
        ),
        ("parked-upload-text", "an upload id that is no UTF-8", entry(10, KEY.as_bytes(), &[0xff])),
    ] {
        vector(scenario, comment, "authentication", &base64(&bytes)).write(dir);
    }
    let text = base64(&good);
    for (scenario, comment, text) in [
        ("parked-padding", "padding behind it", format!("{text}=")),
        ("parked-alphabet", "a character of another alphabet", text.replacen('A', "+", 1)),
    ] {
        vector(scenario, comment, "authentication", &text).write(dir);
    }
}

//! Vectors of wrapped content keys.

use std::path::Path;

use aes_gcm::aead::{Aead as _, Payload};
use aes_gcm::{Aes256Gcm, KeyInit as _};

use super::{Vector, id, line, open_ring, vector};

const CONTENT_KEY: [u8; 32] = [0xc0; 32];
const FAILS: &str = "authentication";
const CONTEXT: &[u8] = b"endseal/s3-object@v1 wrap\x00";

pub(super) fn write(dir: &Path) {
    let good = wrapped(2, CONTEXT);
    let ok = |scenario, comment, key_id: &str, context: &[u8], wrapped: &[u8]| {
        case(scenario, comment, "ok", key_id, context, wrapped)
            .with_hex("content-key", &CONTENT_KEY)
            .write(dir);
    };
    ok("wrap-last-key", "under the key that wraps", &id(2), CONTEXT, &good);
    ok("wrap-older-key", "under an older key", &id(1), CONTEXT, &wrapped(1, CONTEXT));
    ok("wrap-no-context", "an empty context", &id(2), b"", &wrapped(2, b""));

    let flipped = |at: usize| {
        let mut bad = good.clone();
        bad[at] ^= 1;
        bad
    };
    let refuse = |scenario, comment, expect, key_id: &str, context: &[u8], wrapped: &[u8]| {
        case(scenario, comment, expect, key_id, context, wrapped).write(dir);
    };
    refuse("wrap-other-context", "another context", FAILS, &id(2), b"other", &good);
    refuse("wrap-other-key", "the id of another key", FAILS, &id(1), CONTEXT, &good);
    refuse("wrap-unknown-key", "an id that the ring has not", "unknown", &id(3), CONTEXT, &good);
    refuse("wrap-nonce-changed", "a bit of the nonce", FAILS, &id(2), CONTEXT, &flipped(0));
    refuse("wrap-key-changed", "a bit of the key", FAILS, &id(2), CONTEXT, &flipped(12));
    refuse("wrap-tag-changed", "a bit of the tag", FAILS, &id(2), CONTEXT, &flipped(59));
    refuse("wrap-short", "59 bytes", FAILS, &id(2), CONTEXT, &good[..59]);
    refuse("wrap-long", "61 bytes", FAILS, &id(2), CONTEXT, &[&good[..], &[0]].concat());
    refuse("wrap-empty", "no byte", FAILS, &id(2), CONTEXT, b"");
    let short = sealed(2, CONTEXT, &CONTENT_KEY[..31]);
    refuse("wrap-31-bytes", "a shorter content key, authentic", FAILS, &id(2), CONTEXT, &short);
}

fn case(
    scenario: &str,
    comment: &str,
    expect: &str,
    key_id: &str,
    context: &[u8],
    wrapped: &[u8],
) -> Vector {
    vector(scenario, comment, expect, &open_ring(&[line(1), line(2)].concat()))
        .with_hex("context", context)
        .with("key-id", key_id)
        .with_hex("wrapped", wrapped)
}

fn wrapped(key: u8, context: &[u8]) -> Vec<u8> {
    sealed(key, context, &CONTENT_KEY)
}

fn sealed(key: u8, context: &[u8], plaintext: &[u8]) -> Vec<u8> {
    let nonce = [0xd0 | key; 12];
    let aead = Aes256Gcm::new(&[key; 32].into());
    let payload = Payload { msg: plaintext, aad: context };
    [&nonce[..], &aead.encrypt(&nonce.into(), payload).unwrap()].concat()
}

//! Writes the test vectors of docs/spec/transport.md:
//! `cargo run -p endseal-transport --example endseal-transport-vectors -- vectors`.
//!
//! All bytes are written by hand here and not by the code that the vectors test; only keys and ids
//! come from the library.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a generator that fails may stop")]
#![allow(clippy::std_instead_of_core, reason = "as in the crate")]

use std::env;
use std::path::{Path, PathBuf};

use endseal_crypto::mldsa65::{Seed, SigningKey};
use endseal_crypto::peer_id::PeerId;
use endseal_testing::Vector;

fn main() {
    let dir = PathBuf::from(env::args_os().nth(1).expect("usage: vectors <directory>"));
    let dir = dir.join("transport");
    spki(&dir);
    prefixes(&dir);
    early(&dir);
}

fn spki(dir: &Path) {
    let vector = |scenario, comment: &str, expect: &str, spki: &[u8]| {
        Vector::new(scenario, comment, expect).with("kind", "spki").with_hex("spki", spki)
    };
    let spki = |n| SigningKey::from_seed(Seed::from_bytes(&[n; 32])).public_key().to_spki();
    for (scenario, n) in [("spki-seed-01", 1), ("spki-seed-fe", 0xfe)] {
        let spki = spki(n);
        vector(scenario, "a key and its id", "ok", &spki)
            .with_hex("mldsa65_seed", &[n; 32])
            .with_hex("peer_id", PeerId::of_spki(&spki).as_bytes())
            .write(dir);
    }
    let good = spki(1);
    let changed = |at: usize, byte| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    let null = {
        let mut bytes = good.clone();
        bytes.splice(17..17, [5, 0]);
        (bytes[3], bytes[5]) = (0xb4, 0x0d);
        bytes
    };
    let ed25519 =
        [&[0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0][..], &[1; 32]].concat();
    let failures: &[(&'static str, &str, Vec<u8>)] = &[
        ("spki-truncated", "the last byte is missing", good[..1973].to_vec()),
        ("spki-trailing-byte", "a byte too many", [&good[..], &[0]].concat()),
        ("spki-mldsa44", "the identifier of ML-DSA-44", changed(16, 0x11)),
        ("spki-unused-bits", "a bit string with unused bits", changed(21, 1)),
        ("spki-null-parameters", "parameters that should be absent", null),
        ("spki-raw", "the key without its wrapping", good[22..].to_vec()),
        ("spki-ed25519", "an Ed25519 key", ed25519),
        ("spki-empty", "nothing", Vec::new()),
    ];
    for (scenario, comment, spki) in failures {
        vector(scenario, comment, "spki", spki).write(dir);
    }
}

fn prefixes(dir: &Path) {
    let vector = |scenario, comment: &str, expect: &str, expected: u64, bytes: &[u8]| {
        Vector::new(scenario, comment, expect)
            .with("kind", "prefix")
            .with_number("expected", expected)
            .with_hex("bytes", bytes)
    };
    let control: &[(&'static str, &str, &[u8], u64)] = &[
        ("prefix-control", "1 MiB is accepted", &[0, 0x80, 0x80, 0x40], 1_048_576),
        ("prefix-control-least", "64 KiB, the least", &[0, 0x80, 0x80, 4], 65_536),
        ("prefix-control-most", "16 MiB, the most", &[0, 0x80, 0x80, 0x80, 8], 16_777_216),
    ];
    for (scenario, comment, bytes, max) in control {
        let length = u64::try_from(bytes.len()).unwrap();
        vector(scenario, comment, "ok", 0, bytes)
            .with_number("length", length)
            .with_number("max_payload", *max)
            .write(dir);
    }
    for (scenario, comment, expected, bytes) in [
        ("prefix-message", "a message stream, followed by a frame", 1, &[1, 0x11, 0][..]),
        ("prefix-exchange", "an exchange", 2, &[2]),
    ] {
        vector(scenario, comment, "ok", expected, bytes).with_number("length", 1).write(dir);
    }
    let two_to_62 = [&[0][..], &[0x80; 8], &[0x40]].concat();
    let endless = [&[0][..], &[0x80; 9]].concat();
    let failures: &[(&'static str, &str, &str, u64, &[u8])] = &[
        ("prefix-control-twice", "a control stream for messages", "stream", 1, &[0, 0x80, 0x80, 4]),
        ("prefix-message-first", "a message stream as the first", "stream", 0, &[1]),
        ("prefix-exchange-one-way", "an exchange on a message stream", "stream", 1, &[2]),
        ("prefix-unknown", "type 3", "stream", 1, &[3]),
        ("prefix-unknown-two-way", "type 1 on an exchange", "stream", 2, &[1]),
        ("prefix-empty", "no byte", "truncated", 1, &[]),
        ("prefix-control-cut", "the number is not complete", "truncated", 0, &[0, 0x80, 0x80]),
        ("prefix-control-overlong", "65,536 in four bytes", "varint", 0, &[0, 0x80, 0x80, 0x84, 0]),
        ("prefix-control-2-62", "2^62", "varint", 0, &two_to_62),
        ("prefix-control-endless", "nine bytes without an end", "varint", 0, &endless),
        ("prefix-control-not-endless", "eight bytes without an end", "truncated", 0, &endless[..9]),
        ("prefix-control-33-bits", "2^32", "maximum", 0, &[0, 0x80, 0x80, 0x80, 0x80, 0x10]),
        ("prefix-control-too-small", "65,535", "maximum", 0, &[0, 0xff, 0xff, 3]),
        ("prefix-control-too-large", "2^24 + 1", "maximum", 0, &[0, 0x81, 0x80, 0x80, 8]),
        ("prefix-control-zero", "0", "maximum", 0, &[0, 0]),
    ];
    for (scenario, comment, expect, expected, bytes) in failures {
        vector(scenario, comment, expect, *expected, bytes).write(dir);
    }
}

/// Returns frames on a message stream that started as early data, without the stream's prefix.
fn early(dir: &Path) {
    let vector = |scenario, comment: &str, expect: &str, bytes: &[u8]| {
        Vector::new(scenario, comment, expect).with("kind", "early").with_hex("bytes", bytes)
    };
    for (scenario, comment, bytes, payload) in [
        ("early-idempotent", "a frame", &[0x11, 1, 1, 0, 0xdd][..], &[0xdd][..]),
        ("early-idempotent-sealed", "both flags", &[0x11, 3, 1, 0, 0xdd], &[0xdd]),
        (
            "early-two-kinds",
            "two frames",
            &[0x12, 1, 1, 0, 0xdd, 0x11, 1, 2, 1, 0xca, 0xfe],
            &[0xdd, 0xca, 0xfe],
        ),
    ] {
        vector(scenario, comment, "ok", bytes).with_hex("payload", payload).write(dir);
    }
    for (scenario, comment, expect, bytes) in [
        ("early-plain", "no flag", "early", &[0x11, 0, 1, 0, 0xdd][..]),
        ("early-sealed", "sealed is not idempotent", "early", &[0x11, 2, 1, 0, 0xdd]),
        (
            "early-second-plain",
            "every frame must be idempotent",
            "early",
            &[0x11, 1, 1, 0, 0xdd, 0x11, 0, 1, 1, 0xdd],
        ),
        ("early-header-alone", "refused before its payload is there", "early", &[0x11, 0, 9, 0]),
        ("early-sequence", "what is no frame is not early", "sequence", &[0x11, 0, 1, 1, 0xdd]),
    ] {
        vector(scenario, comment, expect, bytes).write(dir);
    }
}

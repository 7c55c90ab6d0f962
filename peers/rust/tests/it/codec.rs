//! Tests of the suite `codec`.

use std::time::Instant;

use serde_json::{Value, json};

use super::PROGRAM;
use crate::peer::Peer;

pub(crate) const SUBJECTS: [&str; 13] = [
    "seed-json-array",
    "seed-json-base64",
    "prost",
    "buffa",
    "postcard",
    "bincode2",
    "rkyv",
    "minicbor",
    "memcpy",
    "prost-direct",
    "buffa-direct",
    "aes-256-gcm",
    "chacha20-poly1305",
];

/// Subjects that encrypt above the first layer.
pub(crate) const SEALING: [&str; 6] =
    ["seed-json-array", "seed-json-base64", "prost", "buffa", "aes-256-gcm", "chacha20-poly1305"];
/// Subjects that are a cipher alone.
const CIPHERS: [&str; 2] = ["aes-256-gcm", "chacha20-poly1305"];
const DIRECT: [&str; 2] = ["prost-direct", "buffa-direct"];

fn layers_of(subject: &str) -> &'static [u64] {
    match subject {
        _ if CIPHERS.contains(&subject) => &[2],
        _ if DIRECT.contains(&subject) => &[3],
        _ if SEALING.contains(&subject) => &[1, 2, 3],
        _ => &[1],
    }
}

const BORROWING: [&str; 6] = ["buffa", "buffa-direct", "postcard", "bincode2", "rkyv", "minicbor"];

const CASES: [&str; 5] = ["encode", "decode", "decode_borrowed", "roundtrip", "wire_size"];

fn params(bytes: u64, blob_percent: u64, layer: u64) -> Value {
    json!({"bytes": bytes, "blob_percent": blob_percent, "layer": layer})
}

/// Returns the same parameters with one repeated letter instead of words.
fn of_a_letter(mut params: Value) -> Value {
    params["letter"] = json!(1);
    params
}

fn is_expected(subject: &str, case: &str, layer: u64) -> bool {
    let has_case = match case {
        "decode_borrowed" => BORROWING.contains(&subject),
        "roundtrip" => subject != "memcpy" && !CIPHERS.contains(&subject),
        _ => true,
    };
    has_case && layers_of(subject).contains(&layer)
}

impl Peer {
    /// Prepares, checks, runs and releases a case. Returns `sealed_bytes`.
    fn code(&mut self, subject: &str, case: &str, params: &Value) -> u64 {
        let of = format!("{subject} {case} {params}");
        let prepared = self.prepare(subject, case, params);
        assert_eq!(prepared["ok"], true, "{of}: {prepared}");
        let handle = &prepared["handle"];

        let checked = self.ask(&json!({"op": "check", "handle": handle}));
        assert_eq!(checked["round_trip"], true, "{of}: {checked}");
        let sealed = params["layer"] != 1 && SEALING.contains(&subject);
        let refused = if sealed { json!(true) } else { Value::Null };
        assert_eq!(checked["tamper_refused"], refused, "{of}: {checked}");

        // More iterations than inputs, in two runs.
        for iterations in [1, 17] {
            let ran = self.ask(&json!({"op": "run", "handle": handle, "iterations": iterations}));
            if case == "wire_size" {
                assert_eq!(ran["error"], "unsupported", "{of}: {ran}");
                continue;
            }
            assert_eq!(ran["iterations"], iterations, "{of}: {ran}");
            let (wall, cpu) = (ran["wall_ns"].as_u64().unwrap(), ran["cpu_ns"].as_u64().unwrap());
            assert!(wall > 0 && cpu > 0, "{of}: {ran}");
        }
        assert_eq!(self.ask(&json!({"op": "release", "handle": handle})), json!({"ok": true}));
        checked["sealed_bytes"].as_u64().unwrap()
    }
}

#[test]
fn every_subject_goes_through_the_cases_that_it_has() {
    let mut peer = Peer::start(PROGRAM);
    for subject in SUBJECTS {
        for case in CASES {
            for layer in 1..=3 {
                for params in [
                    params(1024, 0, layer),
                    params(8192, 0, layer),
                    params(8192, 75, layer),
                    params(65_536, 75, layer),
                    of_a_letter(params(8192, 0, layer)),
                ] {
                    let bytes = params["bytes"].as_u64().unwrap();
                    if is_expected(subject, case, layer) {
                        let size = peer.code(subject, case, &params);
                        assert!(size >= bytes + 414, "{subject} {params}: {size} bytes");
                    } else {
                        let answer = peer.prepare(subject, case, &params);
                        assert_eq!(answer["error"], "unsupported", "{subject} {case}: {answer}");
                    }
                }
            }
        }
    }
    peer.end();
}

#[test]
fn the_largest_message_of_the_tables_goes_through() {
    let mut peer = Peer::start(PROGRAM);
    for subject in SUBJECTS {
        let layer = *layers_of(subject).last().unwrap();
        for blob_percent in [0, 75] {
            peer.code(subject, "decode", &params(262_144, blob_percent, layer));
        }
    }
    peer.end();
}

#[test]
fn the_floor_is_the_raw_bytes() {
    let mut peer = Peer::start(PROGRAM);
    for bytes in [8192, 65_536, 262_144] {
        assert_eq!(peer.code("memcpy", "wire_size", &params(bytes, 0, 1)), bytes + 414);
        assert_eq!(peer.code("memcpy", "wire_size", &params(bytes, 75, 1)), bytes + 441);
        let letter = of_a_letter(params(bytes, 0, 1));
        assert_eq!(peer.code("memcpy", "wire_size", &letter), bytes + 414);
    }
    peer.end();
}

/// The published description gives other sizes: with lists of numbers, three layers make thirteen
/// bytes of one, not two.
#[test]
fn sizes_are_what_the_formats_make() {
    let mut peer = Peer::start(PROGRAM);
    let mut percent = |subject, layer| {
        peer.code(subject, "wire_size", &params(8192, 0, layer)) * 100 / (8192 + 414)
    };
    assert_eq!([percent("prost", 1), percent("buffa", 1)], [100, 100]);
    assert_eq!([percent("prost", 3), percent("buffa", 3)], [101, 101]);
    assert_eq!([percent("prost-direct", 3), percent("buffa-direct", 3)], [100, 100]);
    assert_eq!([percent("aes-256-gcm", 2), percent("chacha20-poly1305", 2)], [100, 100]);
    assert_eq!(percent("postcard", 1), 100);
    assert!((185..200).contains(&percent("seed-json-base64", 3)));
    assert!((1200..1300).contains(&percent("seed-json-array", 3)));
    peer.end();
}

#[test]
fn what_the_suite_does_not_have_is_unsupported() {
    let mut peer = Peer::start(PROGRAM);
    let mut unsupported = |subject: &str, case: &str, params: &Value| {
        let answer = peer.prepare(subject, case, params);
        assert_eq!(answer["error"], "unsupported", "{subject} {case} {params}: {answer}");
    };
    let fits = params(8192, 0, 1);
    unsupported("buffa", "seal", &fits);
    unsupported("buffa", "seal", &json!({"members": 1, "bytes": 1}));
    unsupported("age", "encode", &fits);
    unsupported("prost", "decode_borrowed", &fits);
    for layer in [0, 4, 256 + 1, u64::from(u32::MAX) + 2] {
        unsupported("buffa", "encode", &params(8192, 0, layer));
    }
    for bytes in [0, 1023, 1_000_001, (1 << 53) - 1] {
        unsupported("buffa", "encode", &params(bytes, 0, 1));
    }
    for blob_percent in [1, 50, 100, 101] {
        unsupported("buffa", "encode", &params(8192, blob_percent, 1));
    }
    for lacking in ["bytes", "blob_percent", "layer"] {
        let mut params = fits.clone();
        params.as_object_mut().unwrap().remove(lacking);
        unsupported("buffa", "encode", &params);
    }
    unsupported("buffa", "encode", &of_a_letter(params(8192, 75, 1)));
    for letter in [0, 2] {
        let mut params = fits.clone();
        params["letter"] = json!(letter);
        unsupported("buffa", "encode", &params);
    }
    let mut more = fits.clone();
    more["members"] = json!(1);
    unsupported("buffa", "encode", &more);

    for inputs in [0, 100_000_000, (1u64 << 53) - 1] {
        let request = json!({"op": "prepare", "subject": "buffa", "case": "encode",
                             "params": fits, "inputs": inputs});
        let answer = peer.ask(&request);
        assert_eq!(answer["error"], "unsupported", "{inputs}: {answer}");
    }
    assert_eq!(peer.prepare("buffa", "encode", &fits)["ok"], true);
    let run = json!({"op": "run", "handle": 1, "iterations": 0});
    assert_eq!(peer.ask(&run)["error"], "protocol");
    peer.end();
}

/// The harness asks every subject for every case of every suite, so a refusal must be quick.
#[test]
fn refusals_are_quick() {
    let mut peer = Peer::start(PROGRAM);
    let large = params(1_000_000, 75, 3);
    let started = Instant::now();
    for _ in 0..100 {
        assert_eq!(peer.prepare("rkyv", "encode", &large)["error"], "unsupported");
        assert_eq!(peer.prepare("age", "encode", &large)["error"], "unsupported");
    }
    let refusing = started.elapsed();
    let started = Instant::now();
    assert_eq!(peer.prepare("buffa", "encode", &large)["ok"], true);
    assert!(refusing < 100 * started.elapsed(), "{refusing:?}");
    peer.end();
}

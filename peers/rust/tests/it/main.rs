//! Tests that run the built peer and talk to it as the harness does.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use serde_json::{Value, json};

use crate::peer::Peer;

mod carry;
mod codec;
mod peer;
mod transport;

const PROGRAM: &str = env!("CARGO_BIN_EXE_endseal-peers");

const SUBJECTS: [&str; 7] = [
    "age",
    "age-unbuffered",
    "hpke",
    "libsodium-native",
    "libsodium-native-x25519",
    "straight",
    "straight-signed",
];

impl Peer {
    /// Prepares, checks, runs and releases a case. Returns `sealed_bytes`.
    fn go_through(&mut self, subject: &str, case: &str, params: &Value) -> u64 {
        let of = format!("{subject} {case} {params}");
        let prepared = self.prepare(subject, case, params);
        assert_eq!(prepared["ok"], true, "{of}: {prepared}");
        let handle = &prepared["handle"];

        let checked = self.ask(&json!({"op": "check", "handle": handle}));
        assert_eq!(checked["round_trip"], true, "{of}: {checked}");
        assert_eq!(checked["tamper_refused"], true, "{of}: {checked}");

        // More iterations than inputs, in two runs.
        for iterations in [1, 17] {
            let ran = self.ask(&json!({"op": "run", "handle": handle, "iterations": iterations}));
            assert_eq!(ran["iterations"], iterations, "{of}: {ran}");
            let (wall, cpu) = (ran["wall_ns"].as_u64().unwrap(), ran["cpu_ns"].as_u64().unwrap());
            assert!(wall > 0 && cpu > 0, "{of}: {ran}");
        }
        assert_eq!(self.ask(&json!({"op": "release", "handle": handle})), json!({"ok": true}));
        let run = json!({"op": "run", "handle": handle, "iterations": 1});
        assert_eq!(self.ask(&run)["error"], "protocol");
        checked["sealed_bytes"].as_u64().unwrap()
    }
}

#[test]
fn hello_describes_every_subject() {
    let mut peer = Peer::start(PROGRAM);
    let hello = peer.ask(&json!({"op": "hello", "protocol": 1, "unknown": [1, 2]}));
    assert_eq!(hello["ok"], true);
    assert_eq!(hello["protocol"], 1);
    assert_eq!(hello["peer"], "rust");
    assert!(hello["runtime"].as_str().unwrap().starts_with("rustc 1."), "{hello}");
    let subjects = hello["subjects"].as_array().unwrap();
    let names: Vec<&str> = subjects.iter().map(|it| it["subject"].as_str().unwrap()).collect();
    assert_eq!(names, [&SUBJECTS[..], &codec::SUBJECTS, &transport::SUBJECTS].concat());
    for subject in subjects {
        assert!(subject["settings"].as_str().unwrap().starts_with("https://"), "{subject}");
        let none = subject["subject"] == "memcpy";
        assert_eq!(subject["versions"].as_object().unwrap().is_empty(), none, "{subject}");
        assert!(subject["versions"].as_object().unwrap().values().all(|it| it != "unknown"));
        let confidential =
            subject["properties"].as_array().unwrap().contains(&json!("confidential"));
        let name = subject["subject"].as_str().unwrap();
        let sealing = [&SUBJECTS[..], &codec::SEALING, &transport::SEALING].concat();
        assert_eq!(confidential, sealing.contains(&name), "{name}");
    }
    peer.end();
}

#[test]
fn every_subject_goes_through_every_case() {
    let mut peer = Peer::start(PROGRAM);
    for subject in SUBJECTS {
        for members in [5, 100] {
            let one = json!({"members": members, "bytes": 1024});
            let sealed = peer.go_through(subject, "seal", &one);
            assert!(sealed > 1024 + 16 + 52 * members, "{subject}: {sealed} bytes");
            peer.go_through(subject, "open", &one);
        }
        let many = json!({"members": 5, "bytes": 1024, "count": 10});
        peer.go_through(subject, "seal_many", &many);
        peer.go_through(subject, "open_many", &many);
    }
    peer.end();
}

#[test]
fn the_smallest_and_a_large_content_go_through() {
    let mut peer = Peer::start(PROGRAM);
    for subject in SUBJECTS {
        for (members, bytes) in [(1, 0), (2, 1), (3, 200_000)] {
            let params = json!({"members": members, "bytes": bytes});
            peer.go_through(subject, "seal", &params);
            peer.go_through(subject, "open", &params);
        }
    }
    peer.end();
}

#[test]
fn what_is_not_a_request_is_answered_and_survived() {
    let mut peer = Peer::start(PROGRAM);
    let mut garbage: Vec<Vec<u8>> = [
        "",
        "garbage",
        "{",
        "[]",
        "null",
        "{}",
        r#"{"op":"dance"}"#,
        r#"{"op":"hello","protocol":2}"#,
        r#"{"op":"run","handle":1}"#,
        r#"{"op":"run","handle":-1,"iterations":1}"#,
        r#"{"op":"check","handle":1}"#,
        r#"{"op":"check","handle":1.5}"#,
        r#"{"op":"check","handle":9007199254740992}"#,
        r#"{"op":"release","handle":"1"}"#,
        r#"{"op":"check","handle":1} {"op":"check","handle":1}"#,
    ]
    .iter()
    .map(|line| line.as_bytes().to_vec())
    .collect();
    garbage.push(b"{\"op\":\"\xff\"}".to_vec());
    garbage.push(vec![0; 100]);
    garbage.push(vec![b'['; 100_000]);
    for line in garbage {
        let answer = peer.ask_raw(&line);
        assert_eq!((&answer["ok"], &answer["error"]), (&json!(false), &json!("protocol")));
        assert!(answer["message"].is_string());
    }
    let strange = [json!("1"), json!(null), json!(1.5), json!(-1), json!(1u64 << 53)];
    for value in strange {
        let params = json!({"members": value, "bytes": 1});
        assert_eq!(peer.prepare("age", "seal", &params)["error"], "protocol", "{params}");
    }
    let params = json!({"members": 1, "bytes": 1});
    assert_eq!(peer.prepare("age", "seal", &params), json!({"ok": true, "handle": 1}));
    let run = json!({"op": "run", "handle": 1, "iterations": 0});
    assert_eq!(peer.ask(&run)["error"], "protocol");
    peer.end();
}

#[test]
fn a_line_beyond_the_limit_is_one_wrong_request() {
    let mut peer = Peer::start(PROGRAM);
    let padded = |length: usize| {
        let mut line = br#"{"op":"hello","protocol":1}"#.to_vec();
        line.resize(length, b' ');
        line
    };
    // The limit includes the end of the line.
    assert_eq!(peer.ask_raw(&padded((1 << 20) - 1))["ok"], true);
    assert_eq!(peer.ask_raw(&padded(1 << 20))["error"], "protocol");
    assert_eq!(peer.ask_raw(&padded(5 << 20))["error"], "protocol");
    assert_eq!(peer.ask_raw(&padded(100))["ok"], true);

    // Text without a line end is not a request.
    peer.send(br#"{"op":"hello","protocol":1}"#);
    peer.end();
}

#[test]
fn what_a_subject_cannot_do_is_unsupported() {
    let mut peer = Peer::start(PROGRAM);
    let fits = json!({"members": 1, "bytes": 1, "count": 1});
    let mut unsupported = |subject: &str, case: &str, params: &Value| {
        let answer = peer.prepare(subject, case, params);
        assert_eq!(answer["error"], "unsupported", "{subject} {case} {params}: {answer}");
    };
    unsupported("rot13", "seal", &fits);
    unsupported("age", "put", &fits);
    unsupported("age", "seal", &json!({"members": 1}));
    unsupported("age", "seal", &json!({"bytes": 1}));
    unsupported("age", "seal", &fits);
    unsupported("age", "open", &json!({"members": 1, "bytes": 1, "more": 1}));
    unsupported("age", "open_many", &json!({"members": 1, "bytes": 1}));
    unsupported("age", "open_many", &json!({"members": 1, "bytes": 1, "count": 0}));
    unsupported("age", "seal", &json!({"members": 0, "bytes": 1}));
    unsupported("age", "seal", &json!({"members": 1001, "bytes": 1}));
    unsupported("age-unbuffered", "open", &json!({"members": 101, "bytes": 1}));
    unsupported("hpke", "seal", &json!({"members": (1u64 << 53) - 1, "bytes": 1}));
    unsupported("hpke", "seal", &json!({"members": 1, "bytes": (1u64 << 53) - 1}));
    let no_inputs = json!({"op": "prepare", "subject": "hpke", "case": "seal_many",
                           "params": fits, "inputs": 0});
    assert_eq!(peer.ask(&no_inputs)["error"], "unsupported");
    assert_eq!(peer.prepare("hpke", "seal_many", &fits)["ok"], true);
    peer.end();
}

#[test]
fn a_hundred_handles_are_kept() {
    let mut peer = Peer::start(PROGRAM);
    let params = json!({"members": 1, "bytes": 1});
    let mut handles = Vec::new();
    for _ in 0..100 {
        handles.push(peer.prepare("straight", "open", &params)["handle"].clone());
    }
    for handle in handles.iter().rev() {
        assert_eq!(peer.ask(&json!({"op": "run", "handle": handle, "iterations": 1}))["ok"], true);
    }
    peer.end();
}

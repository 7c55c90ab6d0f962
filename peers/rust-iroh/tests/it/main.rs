//! Tests that run the built peer and talk to it as the harness does.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use serde_json::json;

use crate::carry::POST_QUANTUM;
use crate::peer::Peer;

#[path = "../../../rust/tests/it/carry.rs"]
mod carry;
#[path = "../../../rust/tests/it/peer.rs"]
mod peer;

const PROGRAM: &str = env!("CARGO_BIN_EXE_endseal-peers-iroh");

const SUBJECTS: [&str; 2] = ["iroh", "ant-quic"];

#[test]
fn hello_describes_every_subject() {
    let mut peer = Peer::start(PROGRAM);
    let hello = peer.ask(&json!({"op": "hello", "protocol": 1}));
    assert_eq!((&hello["ok"], &hello["peer"]), (&json!(true), &json!("iroh")));
    let subjects = hello["subjects"].as_array().unwrap();
    let names: Vec<&str> = subjects.iter().map(|it| it["subject"].as_str().unwrap()).collect();
    assert_eq!(names, SUBJECTS);
    for subject in subjects {
        assert!(subject["versions"].as_object().unwrap().values().all(|it| it != "unknown"));
    }
    peer.end();
}

#[test]
fn every_subject_goes_through_every_case() {
    let mut peer = Peer::start(PROGRAM);
    for subject in SUBJECTS {
        peer.carries_everything(subject);
    }
    peer.end();
}

#[test]
fn handshakes_have_figures() {
    let mut peer = Peer::start(PROGRAM);
    for subject in SUBJECTS {
        // One round trip for the handshake and one for the byte.
        let bytes = peer.shakes_hands(subject, 2);
        assert_eq!(bytes > POST_QUANTUM, subject == "ant-quic", "{subject}: {bytes}");
    }
    peer.end();
}

#[test]
fn what_is_no_case_is_unsupported() {
    let mut peer = Peer::start(PROGRAM);
    for (subject, case) in [("quinn", "echo"), ("iroh", "seal"), ("iroh", "handshake")] {
        let answer = peer.prepare(subject, case, &json!({"bytes": 1}));
        assert_eq!(answer["error"], "unsupported", "{subject} {case}: {answer}");
    }
    assert_eq!(peer.ask_raw(b"garbage")["error"], "protocol");
    peer.end();
}

//! Tests of the suite `transport`.

use serde_json::json;

use super::PROGRAM;
use crate::carry::POST_QUANTUM;
use crate::peer::Peer;

pub(crate) const SUBJECTS: [&str; 7] = [
    "quinn",
    "quinn-classical",
    "tcp-tls",
    "tcp-tls-pq",
    "tcp",
    "quinn-json-array",
    "quinn-json-base64",
];
/// Subjects that send bytes unchanged.
const CARRIERS: [&str; 5] = ["quinn", "quinn-classical", "tcp-tls", "tcp-tls-pq", "tcp"];

/// Subjects that encrypt.
pub(crate) const SEALING: [&str; 6] =
    ["quinn", "quinn-classical", "tcp-tls", "tcp-tls-pq", "quinn-json-array", "quinn-json-base64"];

#[test]
fn every_subject_goes_through_every_case() {
    let mut peer = Peer::start(PROGRAM);
    for subject in CARRIERS {
        let size = peer.carries_everything(subject);
        assert_eq!(size == 8192 + 4, subject == "tcp", "{subject}: {size}");
    }
    peer.end();
}

#[test]
fn handshakes_have_figures() {
    let mut peer = Peer::start(PROGRAM);
    for subject in CARRIERS {
        // Round trips: one for the byte, one for the handshake of TLS or QUIC, and one for that of
        // TCP.
        let trips = if subject.starts_with("tcp-") { 3 } else { 2 };
        let bytes = peer.shakes_hands(subject, trips);
        let is_post_quantum = matches!(subject, "quinn" | "tcp-tls-pq");
        assert_eq!(bytes > POST_QUANTUM, is_post_quantum, "{subject}: {bytes}");
    }
    peer.end();
}

/// The published baseline's message on a socket has the published size.
#[test]
fn json_is_counted_on_the_socket() {
    let mut peer = Peer::start(PROGRAM);
    for (subject, least, most) in
        [("quinn-json-array", 90_000, 130_000), ("quinn-json-base64", 16_000, 22_000)]
    {
        let checked = peer.carry(subject, "message_size", &json!({"bytes": 8192}));
        let size = checked["sealed_bytes"].as_u64().unwrap();
        assert!((least..most).contains(&size), "{subject}: {size}");
        let large = peer.carry(subject, "message_size", &json!({"bytes": 65_536}));
        assert!(large["sealed_bytes"].as_u64().unwrap() > 5 * size, "{subject}: {large}");
        let answer = peer.prepare(subject, "echo", &json!({"bytes": 1}));
        assert_eq!(answer["error"], "unsupported", "{answer}");
    }
    let answer = peer.prepare("quinn", "message_size", &json!({"bytes": 8192}));
    assert_eq!(answer["error"], "unsupported", "{answer}");
    peer.end();
}

#[test]
fn what_is_no_case_is_unsupported() {
    let mut peer = Peer::start(PROGRAM);
    for (case, params) in [
        ("seal", json!({"bytes": 1})),
        ("handshake", json!({"bytes": 1})),
        ("echo", json!({})),
        ("echo", json!({"bytes": 0})),
        ("echo", json!({"bytes": (1 << 20) + 1})),
        ("echo", json!({"bytes": 1, "count": 1})),
        ("messages", json!({"bytes": 1, "count": 100_001, "collect": 0})),
        ("messages", json!({"bytes": 1, "count": 1})),
        ("messages", json!({"bytes": 1, "count": 1, "collect": 1})),
        ("bulk", json!({"bytes": (1u64 << 30) + 1})),
        ("wire_size", json!({"bytes": (1u64 << 53) - 1})),
    ] {
        let answer = peer.prepare("quinn", case, &params);
        assert_eq!(answer["error"], "unsupported", "{case} {params}: {answer}");
    }
    let none = json!({"op": "prepare", "subject": "tcp", "case": "echo", "params": {"bytes": 1},
                      "inputs": 0});
    assert_eq!(peer.ask(&none)["error"], "unsupported");
    peer.end();
}

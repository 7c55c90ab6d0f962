//! The suite `transport`.

use serde_json::{Value, json};

use super::Peer;

pub(crate) const SUBJECTS: [&str; 5] = ["quinn", "quinn-classical", "tcp-tls", "tcp-tls-pq", "tcp"];

/// They encrypt.
pub(crate) const SEALING: [&str; 4] = ["quinn", "quinn-classical", "tcp-tls", "tcp-tls-pq"];

impl Peer {
    /// Prepares, checks, runs and releases; returns the answer to `check`.
    fn carry(&mut self, subject: &str, case: &str, params: &Value) -> Value {
        let of = format!("{subject} {case} {params}");
        let prepared = self.prepare(subject, case, params);
        assert_eq!(prepared["ok"], true, "{of}: {prepared}");
        let handle = &prepared["handle"];

        let checked = self.ask(&json!({"op": "check", "handle": handle}));
        assert_eq!(checked["round_trip"], true, "{of}: {checked}");
        let refused = if subject == "tcp" { Value::Null } else { json!(true) };
        assert_eq!(checked["tamper_refused"], refused, "{of}: {checked}");
        assert_eq!(checked["sealed_bytes"].is_u64(), case == "wire_size", "{of}: {checked}");

        // More than the inputs, in two runs on what is open.
        for iterations in [1, 17] {
            let ran = self.ask(&json!({"op": "run", "handle": handle, "iterations": iterations}));
            assert_eq!(ran["iterations"], iterations, "{of}: {ran}");
            let (wall, cpu) = (ran["wall_ns"].as_u64().unwrap(), ran["cpu_ns"].as_u64().unwrap());
            assert!(wall > 0 && cpu > 0, "{of}: {ran}");
        }
        let run = json!({"op": "run", "handle": handle, "iterations": 0});
        assert_eq!(self.ask(&run)["error"], "protocol");
        assert_eq!(self.ask(&json!({"op": "release", "handle": handle})), json!({"ok": true}));
        checked
    }
}

#[test]
fn every_subject_goes_through_every_case() {
    let mut peer = Peer::start();
    for subject in SUBJECTS {
        peer.carry(subject, "echo", &json!({"bytes": 1}));
        peer.carry(subject, "echo", &json!({"bytes": 8192}));
        peer.carry(subject, "messages", &json!({"bytes": 1000, "count": 50, "collect": 0}));
        peer.carry(subject, "messages", &json!({"bytes": 1000, "count": 150, "collect": 65_536}));
        peer.carry(subject, "bulk", &json!({"bytes": 1_000_001}));
        let on_the_wire = peer.carry(subject, "wire_size", &json!({"bytes": 8192}));
        let size = on_the_wire["sealed_bytes"].as_u64().unwrap();
        assert!((8192 + 4..8192 + 400).contains(&size), "{subject}: {size}");
        assert_eq!(size == 8192 + 4, subject == "tcp", "{subject}: {size}");
    }
    peer.end();
}

#[test]
fn handshakes_have_figures() {
    let mut peer = Peer::start();
    for subject in SUBJECTS {
        let checked = peer.carry(subject, "handshake", &json!({}));
        let least = |figure: &str| {
            let tries = checked["figures"][figure].as_array().unwrap();
            assert!((1..=3).contains(&tries.len()), "{subject}: {checked}");
            tries.iter().map(|it| it.as_u64().unwrap()).min().unwrap()
        };
        // The byte, the handshake of what protects, and that of TCP.
        let trips = if subject.starts_with("tcp-") { 3 } else { 2 };
        let delayed = least("delayed_ns");
        assert!((trips * 50_000_000..trips * 50_000_000 + 45_000_000).contains(&delayed));
        // Two tasks and a stream take some of it, and none of these a megabyte.
        let idle = checked["figures"]["idle_memory"][0].as_u64().unwrap();
        assert!((100..1_000_000).contains(&idle), "{subject}: {idle}");
        // ML-DSA-65: a public key and a signature from each side; X25519MLKEM768 besides.
        let both = least("bytes_sent").min(least("bytes_received"));
        let is_post_quantum = matches!(subject, "quinn" | "tcp-tls-pq");
        assert_eq!(both > 1952 + 3309 + 1088, is_post_quantum, "{subject}: {both}");
    }
    peer.end();
}

#[test]
fn what_is_no_case_is_unsupported() {
    let mut peer = Peer::start();
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

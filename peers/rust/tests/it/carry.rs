//! Tests that every subject of the suite `transport` must pass.

use serde_json::{Value, json};

use crate::peer::Peer;

impl Peer {
    /// Prepares, checks, runs and releases a case. Returns the answer to `check`.
    pub(crate) fn carry(&mut self, subject: &str, case: &str, params: &Value) -> Value {
        let of = format!("{subject} {case} {params}");
        let prepared = self.prepare(subject, case, params);
        assert_eq!(prepared["ok"], true, "{of}: {prepared}");
        let handle = &prepared["handle"];

        let checked = self.ask(&json!({"op": "check", "handle": handle}));
        assert_eq!(checked["round_trip"], true, "{of}: {checked}");
        let refused = if subject == "tcp" { Value::Null } else { json!(true) };
        assert_eq!(checked["tamper_refused"], refused, "{of}: {checked}");
        assert_eq!(checked["sealed_bytes"].is_u64(), case.ends_with("_size"), "{of}: {checked}");

        // More iterations than inputs, in two runs on the same connection.
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

    /// Runs every case except `handshake`. Returns the bytes on the wire of a message of 8,192
    /// bytes.
    pub(crate) fn carries_everything(&mut self, subject: &str) -> u64 {
        self.carry(subject, "echo", &json!({"bytes": 1}));
        self.carry(subject, "echo", &json!({"bytes": 8192}));
        self.carry(subject, "messages", &json!({"bytes": 1000, "count": 50, "collect": 0}));
        self.carry(subject, "messages", &json!({"bytes": 1000, "count": 150, "collect": 65_536}));
        self.carry(subject, "bulk", &json!({"bytes": 1_000_001}));
        let on_the_wire = self.carry(subject, "wire_size", &json!({"bytes": 8192}));
        let size = on_the_wire["sealed_bytes"].as_u64().unwrap();
        assert!((8192 + 4..8192 + 400).contains(&size), "{subject}: {size}");
        size
    }

    /// Runs `handshake`, which must take that many round trips. Returns the bytes of the side that
    /// sends less.
    pub(crate) fn shakes_hands(&mut self, subject: &str, trips: u64) -> u64 {
        let checked = self.carry(subject, "handshake", &json!({}));
        let least = |figure: &str| {
            let tries = checked["figures"][figure].as_array().unwrap();
            assert!((1..=3).contains(&tries.len()), "{subject}: {checked}");
            tries.iter().map(|it| it.as_u64().unwrap()).min().unwrap()
        };
        let delayed = least("delayed_ns");
        let within = trips * 50_000_000..trips * 50_000_000 + 45_000_000;
        assert!(within.contains(&delayed), "{subject}: {delayed}");
        // Two tasks and a stream need some memory, but less than a megabyte.
        let idle = checked["figures"]["idle_memory"][0].as_u64().unwrap();
        assert!((100..1_000_000).contains(&idle), "{subject}: {idle}");
        least("bytes_sent").min(least("bytes_received"))
    }
}

/// Bytes that ML-DSA-65 and ML-KEM-768 add: a public key and a signature from each side, and the
/// smaller message of the key exchange.
pub(crate) const POST_QUANTUM: u64 = 1952 + 3309 + 1088;

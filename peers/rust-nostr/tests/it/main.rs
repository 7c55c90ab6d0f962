//! Tests that run the built peer and talk to it as the harness and other tests do.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::peer::Peer;

#[path = "../../../rust/tests/it/peer.rs"]
mod peer;

const PROGRAM: &str = env!("CARGO_BIN_EXE_endseal-peers-nostr");

const SUBJECTS: [&str; 3] = ["rust-nostr", "rust-nostr-cached", "baseline-method"];

/// Returns the cases with parameters, and for each subject, in the order above, whether it supports
/// the case.
fn cases() -> Vec<(&'static str, Value, [bool; 3])> {
    let bytes = json!({"bytes": 1000});
    vec![
        ("aes_encrypt", bytes.clone(), [true, false, true]),
        ("aes_decrypt", bytes.clone(), [true, false, true]),
        ("nip04_encrypt", bytes.clone(), [true, false, true]),
        ("nip04_decrypt", bytes.clone(), [true, false, true]),
        ("nip44_encrypt", json!({"bytes": 1000, "cached": 0}), [true, false, true]),
        ("nip44_decrypt", json!({"bytes": 1000, "cached": 0}), [true, false, true]),
        ("nip44_encrypt", json!({"bytes": 1000, "cached": 1}), [false, true, false]),
        ("nip44_decrypt", json!({"bytes": 1000, "cached": 1}), [false, true, false]),
        ("conversation_key", json!({}), [true, false, true]),
        ("sign", json!({}), [true, true, true]),
        ("sign", json!({"bytes": 0}), [true, true, true]),
        ("verify", bytes.clone(), [true, false, true]),
        ("flow", bytes, [true, true, true]),
    ]
}

#[test]
fn hello_describes_every_subject() {
    let mut peer = Peer::start(PROGRAM);
    let hello = peer.ask(&json!({"op": "hello", "protocol": 1}));
    assert_eq!((&hello["ok"], &hello["peer"]), (&json!(true), &json!("rust-nostr")));
    let subjects = hello["subjects"].as_array().unwrap();
    let names: Vec<&str> = subjects.iter().map(|it| it["subject"].as_str().unwrap()).collect();
    assert_eq!(names, SUBJECTS);
    for subject in subjects {
        assert!(subject["versions"].as_object().unwrap().values().all(|it| it != "unknown"));
    }
    peer.end();
}

#[test]
fn every_subject_goes_through_its_cases() {
    let mut peer = Peer::start(PROGRAM);
    for (case, params, has) in cases() {
        for (subject, has) in SUBJECTS.into_iter().zip(has) {
            let prepared = peer.prepare(subject, case, &params);
            let at = format!("{subject} {case} {params}: {prepared}");
            if !has {
                assert_eq!(prepared["error"], "unsupported", "{at}");
                continue;
            }
            let handle = &prepared["handle"];
            let check = peer.ask(&json!({"op": "check", "handle": handle}));
            assert_eq!(check["round_trip"], true, "{at} {check}");
            assert_ne!(check["tamper_refused"], false, "{at} {check}");
            let promises =
                ["nip44", "sign", "verify", "flow"].iter().any(|it| case.starts_with(it));
            assert_eq!(check["tamper_refused"], json!(promises.then_some(true)), "{at}");
            // More iterations than inputs.
            let run = peer.ask(&json!({"op": "run", "handle": handle, "iterations": 20}));
            assert_eq!(run["iterations"], 20, "{at} {run}");
            assert!(run["wall_ns"].as_u64() > Some(0) && run["cpu_ns"].as_u64() > Some(0), "{at}");
            assert_eq!(peer.ask(&json!({"op": "release", "handle": handle})), json!({"ok": true}));
        }
    }
    peer.end();
}

#[test]
fn payloads_have_the_lengths_of_the_specification() {
    let mut peer = Peer::start(PROGRAM);
    // Texts are padded to 32 and 81,920 bytes, with 2 or 6 bytes of length and 65 bytes around.
    for (bytes, sealed) in [(1, 132), (32, 132), (65_537, (81_920 + 6 + 65_usize).div_ceil(3) * 4)]
    {
        let params = json!({"bytes": bytes, "cached": 1});
        let prepared = peer.prepare("rust-nostr-cached", "nip44_encrypt", &params);
        let check = peer.ask(&json!({"op": "check", "handle": prepared["handle"]}));
        assert_eq!((&check["round_trip"], &check["sealed_bytes"]), (&json!(true), &json!(sealed)));
    }
    peer.end();
}

#[test]
fn other_parameters_are_unsupported() {
    let mut peer = Peer::start(PROGRAM);
    for (case, params) in [
        ("nip44_encrypt", json!({"bytes": 1})),
        ("nip44_encrypt", json!({"bytes": 0, "cached": 0})),
        ("nip44_encrypt", json!({"bytes": 1, "cached": 2})),
        ("nip04_encrypt", json!({"bytes": 1, "cached": 0})),
        ("conversation_key", json!({"bytes": 1})),
        ("flow", json!({"bytes": 60_001})),
        ("seal", json!({"bytes": 1})),
    ] {
        let answer = peer.prepare("rust-nostr", case, &params);
        assert_eq!(answer["error"], "unsupported", "{case} {params}: {answer}");
    }
    assert_eq!(peer.ask_raw(b"garbage")["error"], "protocol");
    peer.end();
}

/// The program in a mode that answers line by line.
struct Mode {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Mode {
    fn start(name: &str) -> Self {
        let mut command = Command::new(PROGRAM);
        let command = command.arg(name).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, output: BufReader::new(output) }
    }

    fn ask(&mut self, request: &Value) -> Value {
        self.input.write_all(format!("{request}\n").as_bytes()).unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn end(mut self) {
        drop(self.input);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn interop_does_what_it_is_asked() {
    let mut peer = Mode::start("interop");
    let [one, two] = ["11", "22"].map(|byte| byte.repeat(32));
    let publics = [&one, &two].map(|it| peer.ask(&json!({"op": "public_key", "secret": it})));
    let [public_one, public_two] = publics.map(|it| it["public"].clone());
    for (encrypt, decrypt) in [("encrypt", "decrypt"), ("nip04_encrypt", "nip04_decrypt")] {
        for text in ["a".to_owned(), "ä\u{0}\u{1f}\"".repeat(14_000)] {
            let request = json!({"op": encrypt, "secret": one, "public": public_two, "text": text});
            let payload = &peer.ask(&request)["payload"];
            let request =
                json!({"op": decrypt, "secret": two, "public": public_one, "payload": payload});
            assert_eq!(peer.ask(&request)["text"], text);
            let request =
                json!({"op": decrypt, "secret": two, "public": public_two, "payload": payload});
            assert_ne!(peer.ask(&request)["text"], text);
        }
    }
    let draft = json!({"kind": 1, "created_at": 7, "tags": [["t", "é"]], "content": "a\nb"});
    let event =
        peer.ask(&json!({"op": "sign", "secret": one, "event": draft.to_string()}))["event"]
            .clone();
    assert_eq!(peer.ask(&json!({"op": "verify", "event": event}))["valid"], true);
    let other = event.as_str().unwrap().replace("\"created_at\":7", "\"created_at\":8");
    assert_eq!(peer.ask(&json!({"op": "verify", "event": other}))["valid"], false);
    assert_eq!(peer.ask(&json!({"op": "verify", "event": "{}"}))["valid"], false);

    let request =
        json!({"op": "wrap", "secret": one, "public": public_two, "event": draft.to_string()});
    let wrap = peer.ask(&request)["event"].clone();
    let gift = peer.ask(&json!({"op": "unwrap", "secret": two, "event": wrap}));
    assert_eq!(gift["sender"], public_one);
    let rumor: Value = serde_json::from_str(gift["rumor"].as_str().unwrap()).unwrap();
    assert_eq!((&rumor["content"], &rumor["tags"]), (&draft["content"], &draft["tags"]));
    assert_eq!(peer.ask(&json!({"op": "unwrap", "secret": one, "event": wrap}))["error"], "failed");
    assert_eq!(peer.ask(&json!({"op": "encrypt"}))["error"], "protocol");
    peer.end();
}

#[test]
fn client_says_what_it_has_not() {
    let mut peer = Mode::start("client");
    let key = "11".repeat(32);
    let uri = peer.ask(&json!({
        "do": "uri", "key": key, "relays": ["ws://127.0.0.1:9"], "seconds": 5,
    }));
    assert!(uri["result"].as_str().unwrap().starts_with("nostrconnect://"), "{uri}");
    for (order, class) in [
        (json!({"do": "ping", "seconds": 5}), "unsupported"),
        (json!({"do": "connect", "uri": "bunker://1", "key": key, "seconds": 5}), "failed"),
        (json!({"do": "wait", "seconds": 0.1}), "timeout"),
        (json!({"do": "ping"}), "protocol"),
    ] {
        assert_eq!(peer.ask(&order)["error"], class, "{order}");
    }
    peer.end();
}

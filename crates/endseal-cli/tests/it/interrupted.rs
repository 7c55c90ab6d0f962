//! Commands that are interrupted by SIGINT or SIGTERM.

use core::time::Duration;
use std::fs;
use std::io::Write as _;
use std::net::UdpSocket;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};

use endseal_testing::Scratch;
use serde_json::Value;

use crate::people::Person;

/// Time that no step of these tests takes, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

fn kill(child: &Child, signal: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

/// Checks that the process ended with code 130 and the JSON object of that failure.
#[track_caller]
fn is_interrupted(child: Child) {
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{:?}: {err}", output.status);
    assert!(output.stdout.is_empty());
    let object: Value = serde_json::from_str(&err).expect("one object on standard error");
    assert_eq!(object["error"]["kind"], "interrupted");
    assert_eq!(object["error"]["exit_code"], 130);
}

/// Starts a command that seals, and has read 8 MiB of content that continues.
fn sealing(bob: &Person<'_>, args: &[&str]) -> Child {
    let seal = [args, &["seal", "--to-self", "-o", "new"]].concat();
    let mut command = bob.command(&seal);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(&vec![7; 8 << 20]).unwrap();
    child
}

#[test]
fn an_interruption_is_an_object_if_asked_for() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    for signal in ["-INT", "-TERM"] {
        let mut child = sealing(&bob, &["--json"]);
        let stdin = child.stdin.take();
        kill(&child, signal);
        is_interrupted(child);
        drop(stdin);
        assert!(!scratch.has("new"));
    }
}

/// A loop in a script ends only if a signal has ended its command.
#[test]
fn without_json_the_signal_ends_the_process() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    for (name, signal) in [("-TERM", 15), ("-INT", 2)] {
        // A background job of a script ignores SIGINT, and so do the processes that it starts.
        if !is_ignored(signal) {
            let mut child = sealing(&bob, &[]);
            kill(&child, name);
            assert_eq!(child.wait().unwrap().signal(), Some(signal));
        }
    }
}

/// Returns true if this process ignores a signal.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal - 1) & 1 == 1
}

#[test]
fn an_interrupted_connection_is_an_object_if_asked_for() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    silent.set_read_timeout(Some(TIMEOUT)).unwrap();
    let to = format!("{}@{}", bob.peer_id(), silent.local_addr().unwrap());
    let mut command = bob.command(&["ping", &to, "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    silent.recv(&mut [0; 2_000]).unwrap();
    kill(&child, "-INT");
    is_interrupted(child);
}

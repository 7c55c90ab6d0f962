//! A process that is killed leaves no files behind.

use core::time::Duration;
use std::fs;
use std::io::Write as _;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Instant;

use endseal_testing::Scratch;

use crate::people::Person;

#[test]
fn a_killed_process_leaves_no_output() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    scratch.write("kept", b"as it was");
    let before = scratch.names();
    let own = bob.identity();
    for args in [&["seal", "-r", &own, "-o", "new"][..], &["seal", "-r", &own, "-fo", "kept"]] {
        let mut child = bob.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&vec![7; 8 << 20]).unwrap();
        // Everything except one pipe buffer was read, so that the output was created.
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(scratch.names(), before);
        assert_eq!(scratch.read("kept"), b"as it was");
    }
}

#[test]
fn a_crash_dumps_no_core() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let own = bob.identity();
    let mut child =
        bob.command(&["seal", "-r", &own, "-o", "new"]).stdin(Stdio::piped()).spawn().unwrap();
    let limits = format!("/proc/{}/limits", child.id());
    let end = Instant::now() + Duration::from_secs(60);
    let core = loop {
        let limits = fs::read_to_string(&limits).unwrap();
        let line = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
        let core: Vec<_> =
            line.split_ascii_whitespace().skip(4).take(2).map(str::to_owned).collect();
        if core == ["0", "0"] || Instant::now() > end {
            break core;
        }
        sleep(Duration::from_millis(5));
    };
    assert_eq!(core, ["0", "0"]);
    drop(child.stdin.take());
    child.wait().unwrap();
}

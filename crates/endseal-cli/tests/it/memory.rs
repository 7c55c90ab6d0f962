//! Streams of any length need little memory.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::thread;

use endseal_testing::Scratch;

use crate::people::Person;

/// Limit on the memory for a stream beyond that for a single byte. A reader holds 4 MiB.
const LIMIT_KIB: u64 = 8 * 1024;
/// Limit on the memory of the process, including its code and libraries.
const TOTAL_KIB: u64 = 40 * 1024;
const LONG: usize = 64 << 20;

/// Returns the peak memory of a process so far.
fn peak_kib(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Gives the program its input except the last byte, reads all output, and measures its memory
/// before it can end.
fn run(mut command: Command, input: &[u8]) -> (Vec<u8>, u64) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let reader = thread::spawn(move || {
        let mut output = Vec::new();
        stdout.read_to_end(&mut output).unwrap();
        output
    });
    let (last, most) = input.split_last().unwrap();
    stdin.write_all(most).unwrap();
    let peak = peak_kib(&child);
    stdin.write_all(&[*last]).unwrap();
    drop(stdin);
    let output = reader.join().unwrap();
    assert!(child.wait().unwrap().success());
    (output, peak)
}

#[test]
fn a_stream_needs_no_more_memory_than_a_block() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let own = bob.identity();
    // An input shorter than a pipe buffer is no valid measurement: the process may not have read it
    // yet.
    let short = vec![7; 1 << 20];
    let long = vec![7; LONG];
    let (sealed_short, seal_short) = run(bob.command(&["seal", "-r", &own]), &short);
    let (sealed_long, seal_long) = run(bob.command(&["seal", "-r", &own]), &long);
    let (opened_short, open_short) = run(bob.command(&["-q", "open"]), &sealed_short);
    let (opened_long, open_long) = run(bob.command(&["-q", "open"]), &sealed_long);
    assert!(opened_short == short && opened_long == long);
    for (name, short, long) in [("seal", seal_short, seal_long), ("open", open_short, open_long)] {
        eprintln!("{name}: 1 MiB {short} KiB, 64 MiB {long} KiB");
        assert!(long.saturating_sub(short) < LIMIT_KIB, "{name}: {short} {long}");
        assert!(long < TOTAL_KIB, "{name}: {long}");
    }
}

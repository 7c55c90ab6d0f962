//! Processes that are killed while they send to a group or receive from it. Every text arrives
//! once, in order.

use std::path::Path;
use std::process::{Command, Stdio};

use endseal_testing::Scratch;

use crate::killed_at_the_end::shim;
use crate::people::Person;
use crate::session_groups::{team, texts};

/// Functions that make data durable, and more calls of each than sending makes, even after a crash.
const CALLS: [(&str, usize); 2] = [("fdatasync", 4), ("fsync", 14)];

fn lines(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("text {number}")).collect()
}

/// Runs a command until it is killed at that moment. Returns true if it was killed.
pub(crate) fn dies(mut command: Command, shim: &Path, moment: &str) -> bool {
    command.env("LD_PRELOAD", shim).env("KILL_AT", moment);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert!(status.success() || status.code().is_none(), "{moment}: {status}");
    status.code().is_none()
}

/// Returns the sums of the messages that were delivered now, and of those delivered before.
#[track_caller]
fn receive(bob: &Person<'_>, file: &str) -> (u64, u64) {
    let ran = bob.run(&["--json", "session", "group", "receive", file]).ok().json();
    assert_eq!(ran["failed"], 0);
    (ran["delivered"].as_u64().unwrap(), ran["already_delivered"].as_u64().unwrap())
}

#[test]
fn a_receiver_that_dies_again_and_again_gets_each_text_once() {
    receive_in_pieces(2_000, &["3:after", "5:after"]);
}

#[test]
#[ignore = "nightly: thousands of messages are encrypted and read six times"]
fn a_receiver_that_dies_six_times_gets_each_text_once() {
    let moments = ["2:before", "3:after", "4:before", "5:after", "4:after", "6:before"];
    receive_in_pieces(5_000, &moments);
}

/// Receives texts by processes that are killed at these fsyncs, and then to the end.
fn receive_in_pieces(count: usize, moments: &[&str]) {
    let scratch = Scratch::new();
    let shim = shim(&scratch);
    let [alice, bob] = team(&scratch);
    let sent = lines(count);
    scratch.write("lines", sent.join("\n"));
    alice.run(&["session", "group", "send", "team", "lines", "--lines", "-o", "out"]).ok();
    let (mut before, mut deaths) = (0, 0);
    // Each starts where the last one ended. There is an fsync in each transaction of 256 messages.
    for moment in moments {
        let moment = format!("fsync:{moment}");
        deaths +=
            usize::from(dies(bob.command(&["session", "group", "receive", "out"]), &shim, &moment));
        let now = texts(&bob);
        assert!(now.len() >= before && now == sent[..now.len()], "{moment}: {} texts", now.len());
        before = now.len();
    }
    assert_eq!(deaths, moments.len());
    assert!((1..count).contains(&before), "{before}");
    let (now, earlier) = receive(&bob, "out");
    assert_eq!((now + earlier, earlier), (count as u64, before as u64));
    assert_eq!(receive(&bob, "out"), (0, count as u64));
    assert_eq!(texts(&bob), sent);
    bob.run(&["store", "check", "--read-data"]).ok();
}

#[test]
fn a_sender_may_die_and_each_text_arrives_once() {
    let (deaths, waited) = send_with_deaths(4);
    assert!(deaths >= 2 && waited >= 1, "{deaths} deaths, {waited} times something waited");
}

#[test]
#[ignore = "nightly: several processes for each fsync"]
fn a_sender_may_die_anywhere_and_each_text_arrives_once() {
    let (deaths, waited) = send_with_deaths(1);
    assert!(deaths >= 10 && waited >= 3, "{deaths} deaths, {waited} times something waited");
}

/// Sends texts by processes that are killed before each `step`th of their fsyncs. Returns the
/// number of killed processes, and the number of those that left waiting texts.
fn send_with_deaths(step: usize) -> (usize, usize) {
    let scratch = Scratch::new();
    let shim = shim(&scratch);
    let [alice, bob] = team(&scratch);
    let (mut sent, mut waited, mut deaths) = (Vec::new(), 0, 0);
    // All moments at which data becomes durable. The moment after one call is that before the next.
    let moments = CALLS
        .into_iter()
        .flat_map(|(call, most)| (1..=most).map(move |number| (call, number, most)))
        .step_by(step);
    for (round, (call, number, most)) in moments.enumerate() {
        let moment = format!("{call}:{number}:before");
        let texts: Vec<_> = (1..=20).map(|i| format!("{moment}, text {i}")).collect();
        let (lines, first, second) =
            (format!("lines-{round}"), format!("out-{round}"), format!("resumed-{round}"));
        scratch.write(&lines, texts.join("\n"));
        let args = ["session", "group", "send", "team", &lines, "--lines", "-o", &first];
        let died = dies(alice.command(&args), &shim, &moment);
        deaths += usize::from(died);
        // A run makes fewer calls than the last number, so that every call was tested.
        assert!(!died || number < most, "{moment}");
        // What follows is the advice to users: write the waiting messages, or start again if
        // nothing waits and there is no file.
        let resume = ["--json", "session", "group", "send", "team", "--resume", "-o", &second];
        let resumed = alice.run(&resume).ok().json()["messages"].as_u64().unwrap();
        waited += usize::from(resumed > 0);
        if resumed == 0 && !scratch.has(&first) {
            alice.run(&args).ok();
        }
        sent.extend(texts);
        // One file or both, in either order.
        let mut files = vec![second.as_str(), first.as_str()];
        files.retain(|file| scratch.has(file));
        let arrived: u64 = files.iter().map(|file| receive(&bob, file).0).sum();
        assert_eq!(arrived, 20, "{moment}");
    }
    assert_eq!(texts(&bob), sent);
    (deaths, waited)
}

#[test]
fn what_waits_is_not_encrypted_again() {
    let scratch = Scratch::new();
    let shim = shim(&scratch);
    let [alice, bob] = team(&scratch);
    scratch.write("lines", "1\n2\n3");
    let args = ["session", "group", "send", "team", "lines", "--lines", "-o", "out"];
    // Kill before each fsync until the file has its name and its folder is not fsynced. The
    // messages are then still in the outbox.
    for number in 1.. {
        assert!(dies(alice.command(&args), &shim, &format!("fsync:{number}:before")), "{number}");
        if scratch.has("out") {
            break;
        }
        let resumed = format!("resumed-{number}");
        alice.run(&["session", "group", "send", "team", "--resume", "-o", &resumed]).ok();
    }
    let ran = alice.run(&["session", "group", "send", "team", "lines", "--lines", "-o", "again"]);
    ran.fails(2, "an earlier run left 3 messages for the group team");
    alice.run(&["session", "group", "send", "team", "--resume", "-o", "again"]).ok();
    assert_eq!(scratch.read("again"), scratch.read("out"));
    assert_eq!((receive(&bob, "again"), receive(&bob, "out")), ((3, 0), (0, 3)));
}

#[test]
fn what_is_taken_is_written_first() {
    let scratch = Scratch::new();
    let shim = shim(&scratch);
    let [alice, bob] = team(&scratch);
    let sent = lines(200);
    scratch.write("lines", sent.join("\n"));
    alice.run(&["session", "group", "send", "team", "lines", "--lines", "-o", "out"]).ok();
    bob.run(&["session", "group", "receive", "out"]).ok();
    let args = ["--json", "session", "group", "inbox", "--take", "-o", "taken"];
    for number in 1.. {
        assert!(dies(bob.command(&args), &shim, &format!("fsync:{number}:before")), "{number}");
        assert_eq!(texts(&bob), sent, "{number}");
        if scratch.has("taken") {
            break;
        }
    }
    let args = ["--json", "session", "group", "inbox", "--take", "-fo", "taken"];
    bob.run(&args).ok();
    let taken = String::from_utf8(scratch.read("taken")).unwrap();
    assert_eq!(taken.lines().count(), sent.len());
    assert!(texts(&bob).is_empty());
}

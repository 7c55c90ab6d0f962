//! Sessions with the devices of others: safety numbers, resets and the store.

use std::io::Write as _;
use std::process::Stdio;

use endseal_testing::Scratch;
use serde_json::Value;

use crate::messages::{Hub, members, texts};
use crate::people::Person;

/// Alice writes to Bob, who receives and answers.
fn talk(alice: &Person<'_>, bob: &Person<'_>, text: &str) {
    for (from, to) in [(alice, bob), (bob, alice)] {
        from.run(&["say", to.name, text]).ok();
        from.run(&["sync"]).ok();
        to.run(&["sync"]).ok();
        let ran = to.run(&["inbox"]).ok();
        assert_eq!(texts(&ran), [format!("{}> {text}", from.name)]);
    }
}

fn show(person: &Person<'_>, name: &str) -> Value {
    person.run(&["--json", "session", "show", name]).ok().json()
}

#[test]
fn safety_numbers_are_equal_and_confirmed_by_hand() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    let number = alice.run(&["session", "verify", "bob"]).ok();
    assert_eq!(number.text(), bob.run(&["session", "verify", "alice"]).ok().text());
    assert_eq!(number.text().chars().filter(char::is_ascii_digit).count(), 60);
    let ran = alice.run(&["session", "verify", "bob", "--confirm"]);
    let ran = ran.fails(2, "no device of bob is known");
    assert!(ran.err.contains("endseal say bob TEXT"), "{}", ran.err);
    alice.run(&["say", "bob", "hello"]).ok();
    alice.run(&["sync"]).ok();
    assert_eq!(show(&alice, "bob")["verified"], false);
    alice.run(&["session", "verify", "bob", "--confirm"]).ok();
    assert_eq!(show(&alice, "bob")["verified"], true);
    alice.run(&["session", "verify", "bob", "--unconfirm"]).ok();
    assert_eq!(show(&alice, "bob")["verified"], false);
    alice.run(&["session", "verify", &alice.identity()]).fails(2, "your own identity");
}

#[test]
fn a_session_that_was_reset_is_followed_by_a_new_one() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    talk(&alice, &bob, "before");
    let shown = show(&alice, "bob");
    let session = &shown["devices"][0]["sessions"][0];
    assert_eq!((&session["status"], &session["answered"]), (&"sends".into(), &true.into()));
    alice.run(&["session", "reset", "bob", "--device", "8", "--yes"]).fails(2, "no such device");
    let ran = alice.run(&["session", "reset", "bob"]);
    if ran.code != 0 {
        // There is no terminal. With a terminal, the question would not be answered in the test's
        // time.
        ran.fails(2, "there is no answer");
    }
    alice.run(&["session", "reset", "bob", "--yes"]).ok();
    assert_eq!(show(&alice, "bob")["devices"][0]["sessions"][0]["status"], "receives");
    talk(&alice, &bob, "after");
    let listed = alice.run(&["--json", "session", "list"]).ok().json();
    let device = &listed["devices"][0];
    assert_eq!((&device["sending"], &device["receiving"]), (&1.into(), &1.into()));
}

#[test]
fn without_a_store_nothing_is_made() {
    let scratch = Scratch::new();
    let carol = Person::new("carol", &scratch);
    std::fs::remove_dir_all(scratch.path("carol/store")).unwrap();
    for args in [&["session", "list"][..], &["say", &carol.identity(), "x"], &["store", "check"]] {
        carol.run(args).fails(4, "there is no store");
    }
    assert!(!scratch.has("carol/store"));
}

#[test]
fn one_process_at_a_time_has_the_store() {
    let scratch = Scratch::new();
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    alice.knows(&bob);
    let mut child = alice.command(&["say", "bob", "-", "--lines"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // This is more than the pipe holds: the process has started to read, and has the store open.
    let line = [b'x'; 99];
    (0..4_000).for_each(|_| stdin.write_all(&[&line[..], b"\n"].concat()).unwrap());
    let now = ["session", "--wait", "0s", "list"];
    let ran = alice.run(&now).fails(3, "cannot open the store");
    assert!(ran.err.contains("another process has the store open"), "{}", ran.err);
    assert!(ran.err.contains("--wait"), "{}", ran.err);
    // Without the option a command waits, as people who run two of them expect.
    let waiting = alice.command(&["session", "list"]).stdout(Stdio::null()).spawn();
    drop(stdin);
    assert!(waiting.unwrap().wait().unwrap().success());
    assert!(child.wait().unwrap().success());
}

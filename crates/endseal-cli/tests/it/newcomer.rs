//! From two empty machines to the first text.

use std::process::Command;

use endseal_testing::Scratch;

use crate::listener::Listener;
use crate::people::{PROGRAM, Person};

/// Seven commands and one thing to hand over: the invitation of the other person.
#[test]
fn two_people_write_after_seven_commands() {
    let scratch = Scratch::new();
    let alice = Person { name: "alice", scratch: &scratch };
    let bob = Person { name: "bob", scratch: &scratch };
    // 1
    let mut serve = Command::new(PROGRAM);
    serve.args(["--home", "alice", "hub", "serve", "--listen", "127.0.0.1:0"]);
    serve.current_dir(scratch.folder());
    let hub = Listener::of(serve);
    let at = ["--at", hub.host()];
    // 2 and 3
    alice.run(&[&["hub", "invite", "alice", "-o", "alice.invite"][..], &at].concat()).ok();
    let ran = alice.run(&["join", "--no-passphrase", "alice.invite"]).ok();
    assert!(ran.err.contains("identity in "), "{}", ran.err);
    // 4: from here on nothing but this file goes from one machine to the other.
    let invite = ["hub", "invite", "bob", "--from", "alice", "-o", "bob.invite"];
    alice.run(&[&invite[..], &at].concat()).ok();
    // 5
    let ran = bob.run(&["join", "--no-passphrase", "bob.invite"]).ok();
    assert!(ran.err.contains("alice invited you, and is a contact now"), "{}", ran.err);
    // 6
    let ran = bob.run(&["say", "--now", "alice", "hello"]).ok();
    assert_eq!(ran.confirmation(), "1 text for alice sent");
    // 7
    let shown = alice.run(&["inbox", "--now", "--requests"]).ok();
    assert!(shown.text().ends_with("> hello\n"), "{}", shown.text());
    hub.kill();
}

#[test]
fn an_invitation_does_not_replace_a_contact() {
    let scratch = Scratch::new();
    let alice = Person::new("alice", &scratch);
    let bob = Person::new("bob", &scratch);
    bob.run(&["contacts", "add", "alice", &bob.identity()]).ok();
    let mut serve = Command::new(PROGRAM);
    serve.args(["--home", "alice", "hub", "serve", "--listen", "127.0.0.1:0"]);
    serve.current_dir(scratch.folder());
    let hub = Listener::of(serve);
    let invite =
        ["hub", "invite", "bob", "--from", "alice", "-o", "bob.invite", "--at", hub.host()];
    alice.run(&invite).ok();
    let ran = bob.run(&["join", "bob.invite"]).ok();
    assert!(ran.err.contains("you have another contact alice"), "{}", ran.err);
    hub.kill();
}

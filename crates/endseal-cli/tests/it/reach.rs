//! Requests, blocked people, and texts that are cancelled or deleted, on the command line.

use endseal_testing::Scratch;

use crate::messages::{Hub, members, texts};
use crate::people::Person;
use crate::signer_running::Running;

/// Makes Alice and Bob, who have joined. Bob does not have Alice as a contact.
fn outsiders<'a>(scratch: &'a Scratch, hub: &Hub<'_>) -> [Person<'a>; 2] {
    let [alice, bob] = members(scratch, hub);
    bob.run(&["contacts", "remove", "alice"]).ok();
    [alice, bob]
}

fn identity(person: &Person<'_>) -> String {
    person.run(&["id", "show"]).ok().text().trim().to_owned()
}

#[test]
fn a_request_is_accepted_while_endseal_up_runs() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = outsiders(&scratch, &hub);
    let _up = Running::of(bob.command(&["--json", "up", "--log", "off"]));
    alice.run(&["say", "bob", "hello"]).ok();
    alice.run(&["sync"]).ok();
    let of_alice = identity(&alice);
    let told = bob.run(&["sync"]).ok().err;
    assert!(!told.contains("1 received"), "{told}");
    let ran = bob.run(&["inbox"]).ok();
    let note = format!("note: 1 request of {of_alice}: endseal inbox --requests\n");
    assert_eq!((ran.text(), ran.err.as_str()), ("", note.as_str()));
    let ran = bob.run(&["inbox", "--requests"]).ok();
    assert_eq!(texts(&ran), [format!("{of_alice}> hello")]);
    bob.run(&["contacts", "add", "alice", &of_alice]).ok();
    let ran = bob.run(&["inbox"]).ok();
    assert_eq!((texts(&ran), ran.err.as_str()), (vec!["alice> hello"], ""));
    bob.run(&["block", "alice"]).ok();
    let refused = bob.run(&["say", "alice", "no"]).fails(1, "this person is blocked");
    assert!(refused.err.contains("endseal unblock"), "{}", refused.err);
    let told = bob.run(&["contacts", "add", "alice", &of_alice, "--force"]).ok().err;
    assert!(told.contains("alice is blocked"), "{told}");
}

#[test]
fn what_is_deleted_is_asked_for() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, _bob] = members(&scratch, &hub);
    alice.feed(&["say", "bob", "-", "--lines"], b"one\ntwo\nthree\n").ok();
    let listed = alice.run(&["--json", "unsend"]).ok().json();
    let number = |at: usize| listed["unsent"][at]["number"].to_string();
    assert_eq!(listed["unsent"][0]["name"], "bob");
    let status = alice.run(&["status"]).ok();
    let numbers = [number(0), number(1), number(2)].join(" ");
    assert!(status.text().contains(&format!("unsent       3 ({numbers})\n")), "{}", status.text());
    alice.run(&["unsend", "bob"]).fails(2, "no text was named");
    assert_eq!(alice.run(&["unsend", "bob", "--all", &number(0)]).code, 2);
    let ran = alice.run(&["unsend", "bob", &number(1), &number(1)]).ok();
    assert_eq!(ran.confirmation(), "1 text for bob is cancelled");
    alice.run(&["unsend", "bob", &number(1)]).fails(2, "there is no such text");
    alice.run(&["sync"]).ok();
    alice.run(&["unsend", "bob", &number(0)]).fails(1, "has left this device");
    alice.run(&["history", "bob", "--delete"]).fails(2, "--force");
    alice.run(&["history", "bob", "--delete", "--before", "yesterday"]).fails(2, "2026-01-31");
    let delete = ["history", "bob", "--delete", "--force"];
    let ran = alice.run(&[&delete[..], &["--number", &number(0)]].concat()).ok();
    assert_eq!(ran.confirmation(), "1 text with bob is deleted");
    let ran = alice.run(&["history", "bob"]).ok();
    assert_eq!(texts(&ran), ["me (not delivered)> three"]);
    alice.run(&delete).ok();
    assert_eq!(alice.run(&["history", "bob"]).ok().text(), "");
    assert_eq!(alice.run(&["--json", "status"]).ok().json()["undelivered"], 0);
}

#[test]
fn a_group_that_is_not_here_gets_no_text() {
    let scratch = Scratch::new();
    let alice = Person::new("alice", &scratch);
    let group = "00112233445566778899aabbccddeeff";
    alice.run(&["say", group, "text"]).fails(2, "is no contact and no group");
    let ran = alice.run(&["unsend", group, "--all"]).ok();
    assert_eq!(ran.confirmation(), &format!("0 texts for {group} are cancelled"));
}

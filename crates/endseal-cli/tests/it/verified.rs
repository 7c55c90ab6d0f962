//! Safety numbers that were compared: `contacts verify` and `contacts list`.

use endseal_testing::Scratch;
use serde_json::Value;

use crate::messages::{Hub, members};
use crate::people::Person;
use crate::up::Running;

fn two(scratch: &Scratch) -> [Person<'_>; 2] {
    let people = ["alice", "bob"].map(|name| Person::new(name, scratch));
    people[0].knows(&people[1]);
    people[1].knows(&people[0]);
    people
}

/// Returns what the list of contacts says of the contact `bob`.
fn of_bob(person: &Person<'_>) -> Value {
    let listed = person.run(&["--json", "contacts", "list"]).ok().json();
    let mut contacts = listed["contacts"].as_array().unwrap().iter();
    contacts.find(|it| it["name"] == "bob").unwrap()["verified"].clone()
}

fn verify(person: &Person<'_>, option: &str) -> String {
    person.run(&["contacts", "verify", "bob", option]).ok().err
}

#[test]
fn safety_numbers_are_equal_and_confirmed_before_anything_was_said() {
    let scratch = Scratch::new();
    let [alice, bob] = two(&scratch);
    let number = alice.run(&["contacts", "verify", "bob"]).ok();
    assert_eq!(number.text(), bob.run(&["contacts", "verify", "alice"]).ok().text());
    assert_eq!(number.text().chars().filter(char::is_ascii_digit).count(), 60);
    assert_eq!((number.err.as_str(), of_bob(&alice)), ("", false.into()));
    assert_eq!(verify(&alice, "--confirm"), "bob is verified\n");
    assert_eq!(of_bob(&alice), true);
    let listed = alice.run(&["contacts", "list"]).ok();
    assert_eq!(listed.text(), format!("bob  {}  verified\n", bob.identity()));
    assert_eq!(verify(&alice, "--unconfirm"), "bob is not verified any more\n");
    assert_eq!(of_bob(&alice), false);
    alice.run(&["contacts", "verify", &alice.identity()]).fails(2, "your own identity");
    // It is recorded once and removed once.
    for (option, verified) in [("--confirm", true), ("--unconfirm", false)] {
        (0..2).for_each(|_| drop(verify(&alice, option)));
        assert_eq!(of_bob(&alice), verified);
    }
}

#[test]
fn another_identity_under_the_name_of_a_contact_is_not_verified() {
    let scratch = Scratch::new();
    let [alice, bob] = two(&scratch);
    let mallory = Person::new("mallory", &scratch);
    verify(&alice, "--confirm");
    let replace = |by: &Person<'_>| {
        alice.run(&["contacts", "add", "--force", "bob", &by.identity_pq()]).ok();
    };
    replace(&mallory);
    assert_eq!(of_bob(&alice), false);
    // The record is of the identity, whatever its name.
    replace(&bob);
    assert_eq!(of_bob(&alice), true);
    alice.run(&["contacts", "remove", "bob"]).ok();
    alice.run(&["contacts", "add", "bob", &bob.identity()]).ok();
    assert_eq!(of_bob(&alice), true);
}

#[test]
fn comparisons_go_through_the_socket_and_survive_a_backup() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, _bob] = members(&scratch, &hub);
    let words = alice.run(&["id", "paper", "--force"]).ok().out;
    let up = Running::up(&alice);
    assert_eq!(of_bob(&alice), false);
    assert_eq!(verify(&alice, "--confirm"), "bob is verified\n");
    assert_eq!(of_bob(&alice), true);
    assert_eq!(up.end("-TERM"), Some(0));
    assert_eq!(of_bob(&alice), true);
    alice.run(&["backup", "alice.backup"]).ok();
    let third = Person { name: "third", scratch: &scratch };
    let restore = ["restore", "--no-passphrase", "--keep-others", "alice.backup"];
    third.feed(&restore, &words).ok();
    assert_eq!(of_bob(&third), true);
    drop(hub);
}

/// A list that asked for a passphrase would stop scripts, and the completion of names.
#[test]
fn contacts_are_listed_without_the_passphrase_of_the_device() {
    let scratch = Scratch::new();
    scratch.write("word", "correct horse\n");
    let bob = Person::new("bob", &scratch);
    let alice = Person { name: "alice", scratch: &scratch };
    let word = ["--passphrase-file", "word"];
    alice.run(&[&word[..], &["init", "--protect-device"]].concat()).ok();
    alice.knows(&bob);
    alice.run(&[&word[..], &["contacts", "verify", "bob", "--confirm"]].concat()).ok();
    let listed = alice.run(&["contacts", "list"]).ok();
    assert_eq!((listed.text(), &*listed.err), (&*format!("bob  {}\n", bob.identity()), ""));
    assert_eq!(of_bob(&alice), Value::Null);
    let listed = alice.run(&[&word[..], &["contacts", "list"]].concat()).ok();
    assert!(listed.text().ends_with("  verified\n"), "{}", listed.text());
    std::fs::remove_dir_all(scratch.path("alice/store")).unwrap();
    assert_eq!(of_bob(&alice), Value::Null);
}

//! Changes of teams, as their members read of them.

use std::fs;

use endseal_testing::Scratch;

use crate::devices::{address, words};
use crate::messages::Hub;
use crate::people::Person;

/// Makes people who know each other and have joined the hub.
fn people<'a, const N: usize>(
    names: [&'static str; N],
    scratch: &'a Scratch,
    hub: &Hub<'_>,
) -> [Person<'a>; N] {
    let people = names.map(|name| Person::new(name, scratch));
    for person in &people {
        for other in people.iter().filter(|other| other.name != person.name) {
            person.knows(other);
        }
        person.run(&["join", &hub.invite(person.name)]).ok();
    }
    people
}

/// Visits the hub. Returns the notes about teams.
fn notes(person: &Person<'_>) -> Vec<String> {
    let ran = person.run(&["sync"]).ok();
    let lines = ran.err.lines().filter(|it| it.starts_with("note: "));
    lines.map(|it| it.trim_start_matches("note: ").to_owned()).collect()
}

/// Lets all people visit the hub often enough for changes and receipts to arrive.
fn settle(people: &[&Person<'_>]) {
    for person in [people, people, people].concat() {
        person.run(&["sync"]).ok();
    }
}

#[test]
fn members_read_what_others_changed_in_a_team() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob, carol, dave] = people(["alice", "bob", "carol", "dave"], &scratch, &hub);
    alice.run(&["group", "create", "sales-crew", "bob", "carol", "--own-name", "alice"]).ok();
    assert!(notes(&alice).is_empty());
    let joined = "you are a member of the group sales-crew, which alice owns";
    assert_eq!(notes(&bob), [joined]);
    assert_eq!(notes(&carol), [joined]);

    let change = |by: &Person<'_>, args: &[&str]| {
        by.run(&[&["group"], args].concat()).ok();
        assert_eq!(notes(by), Vec::<String>::new(), "{args:?}");
    };
    change(&alice, &["rename", "sales-crew", "field-crew"]);
    let renamed = "alice renamed the group sales-crew to field-crew";
    assert_eq!(notes(&bob), [renamed]);
    assert_eq!(notes(&bob), Vec::<String>::new());
    change(&alice, &["admin", "add", "field-crew", "bob"]);
    assert_eq!(notes(&bob), ["alice made you an admin of the group field-crew"]);
    // Each change has its line, even if they arrive together.
    let appointed = "alice made bob an admin of the group field-crew";
    assert_eq!(notes(&carol), [renamed, appointed]);
    change(&bob, &["add", "field-crew", "dave"]);
    for person in [&alice, &carol] {
        assert_eq!(notes(person), ["bob added dave to the group field-crew"]);
    }
    assert_eq!(notes(&dave), ["you are a member of the group field-crew, which alice owns"]);
    change(&alice, &["owner", "field-crew", "carol"]);
    // The admins whom she appointed are admins no more.
    let handed_on = "alice handed the group field-crew over to";
    let plain = "a plain member of the group field-crew";
    let expected = [format!("{handed_on} you"), format!("alice made bob {plain}")];
    assert_eq!(notes(&carol), expected);
    let expected = [format!("{handed_on} carol"), format!("alice made you {plain}")];
    assert_eq!(notes(&bob), expected);
    change(&carol, &["remove", "field-crew", "dave"]);
    assert!(notes(&alice).contains(&"carol removed dave from the group field-crew".to_owned()));
    assert!(notes(&dave).contains(&"carol removed you from the group field-crew".to_owned()));
}

#[test]
fn a_removed_member_reads_that_in_the_list_of_groups() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob, carol] = people(["alice", "bob", "carol"], &scratch, &hub);
    alice.run(&["group", "create", "team", "bob", "carol", "--own-name", "alice"]).ok();
    settle(&[&alice, &bob, &carol]);
    alice.run(&["group", "remove", "team", "bob"]).ok();
    settle(&[&alice, &bob, &carol]);
    let listed = bob.run(&["group", "list"]).ok();
    assert_eq!(listed.text(), "team  epoch 2, 2 members, you were removed\n");
    assert!(
        bob.run(&["group", "show", "team"]).ok().text().contains("epoch  2, you were removed\n")
    );
    let listed = carol.run(&["group", "list"]).ok();
    assert_eq!(listed.text(), "team  epoch 2, 2 members\n");
    // A roster that was imported by a person who never was a member.
    let dave = Person::new("dave", &scratch);
    dave.knows(&alice);
    alice.run(&["group", "export", "team", "-o", "roster"]).ok();
    dave.run(&["group", "import", "roster"]).ok();
    let listed = dave.run(&["group", "list"]).ok();
    assert_eq!(listed.text(), "team  epoch 2, 2 members, you are no member\n");

    // Neither of them can open what they seal to the members.
    scratch.write("plain", b"for the team");
    let ran = bob.run(&["seal", "-g", "team", "-o", "by-bob", "plain"]).ok();
    assert!(
        ran.err.contains("note: you were removed from team: without --to-self you cannot open"),
        "{}",
        ran.err
    );
    let ran = dave.run(&["seal", "-g", "team", "-o", "by-dave", "plain"]).ok();
    assert!(ran.err.contains("note: you are no member of team"), "{}", ran.err);
    let ran = carol.run(&["seal", "-g", "team", "-o", "by-carol", "plain"]).ok();
    assert!(!ran.err.contains("note: "), "{}", ran.err);
    carol.run(&["open", "by-carol"]).ok();
}

#[test]
fn a_file_for_a_team_is_not_sealed_to_those_who_have_left() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob, carol] = people(["alice", "bob", "carol"], &scratch, &hub);
    alice.run(&["group", "create", "team", "bob", "carol", "--own-name", "alice"]).ok();
    settle(&[&alice, &bob, &carol]);
    scratch.write("plain", b"for the team");
    carol.run(&["group", "leave", "team"]).ok();
    let ran = carol.run(&["seal", "-g", "team", "-o", "by-carol", "plain"]).ok();
    assert!(ran.err.contains("note: you have left team"), "{}", ran.err);
    carol.run(&["open", "by-carol"]).fails(1, "not sealed to this identity");
    settle(&[&carol, &bob]);
    // Neither a hub nor the owner is needed.
    hub.stop();
    let ran = bob.run(&["seal", "-g", "team", "-o", "by-bob", "plain"]).ok();
    let note = "note: carol has left team: the file is not sealed to carol\n";
    assert!(ran.err.contains(note), "{}", ran.err);
    carol.run(&["open", "by-bob"]).fails(1, "not sealed to this identity");
    alice.run(&["open", "by-bob"]).ok();
    bob.run(&["open", "by-bob"]).ok();
    // A person who is named is a recipient.
    bob.run(&["seal", "-g", "team", "-r", "carol", "-o", "to-carol", "plain"]).ok();
    carol.run(&["open", "to-carol"]).ok();
    // Without the store it is not known who has left, and a file can be sealed nevertheless.
    for entry in fs::read_dir(scratch.path("bob/store")).unwrap() {
        fs::write(entry.unwrap().path(), b"damaged").unwrap();
    }
    let ran = bob.run(&["seal", "-g", "team", "-o", "to-all", "plain"]).ok();
    assert!(ran.err.contains("warning: it is not known who has left: "), "{}", ran.err);
    carol.run(&["open", "to-all"]).ok();
}

#[test]
fn a_member_who_left_gets_no_alarm_of_what_others_still_say() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob, carol] = people(["alice", "bob", "carol"], &scratch, &hub);
    alice.run(&["group", "create", "team", "bob", "carol", "--own-name", "alice"]).ok();
    settle(&[&alice, &bob, &carol]);
    carol.run(&["group", "leave", "team"]).ok();
    carol.run(&["sync"]).ok();
    carol.run(&["group", "delete", "team"]).ok();
    // They have not visited since she left.
    for person in [&alice, &bob] {
        person.run(&["say", "--now", "team", "still to all"]).ok();
    }
    for _ in 0..3 {
        let ran = carol.run(&["sync"]).ok();
        assert_eq!(ran.err, "0 received, 0 sent\n");
        for person in [&alice, &bob] {
            person.run(&["say", "--now", "team", "without her"]).ok();
        }
    }
    assert_eq!(carol.run(&["inbox"]).ok().text(), "");
}

#[test]
fn a_team_comes_back_to_a_person_who_recovered() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob, carol] = people(["alice", "bob", "carol"], &scratch, &hub);
    alice.run(&["group", "create", "team", "bob", "carol", "--own-name", "alice"]).ok();
    settle(&[&alice, &bob, &carol]);
    let (hub_address, words) = (address(&bob), words(&bob));
    fs::remove_dir_all(scratch.path("bob")).unwrap();
    let recover = ["recover", "--no-passphrase", "--revoke-others", &hub_address];
    let ran = bob.feed(&recover, &words).ok();
    assert!(ran.err.contains("a group comes back when one of its members visits"), "{}", ran.err);
    assert_eq!(bob.run(&["group", "list"]).ok().text(), "");
    carol.run(&["say", "--now", "team", "where is bob?"]).ok();
    carol.run(&["sync"]).ok();
    bob.run(&["sync"]).ok();
    bob.knows(&alice);
    let joined = "you are a member of the group team, which alice owns".to_owned();
    assert!(notes(&bob).contains(&joined));
    assert_eq!(bob.run(&["group", "list"]).ok().text(), "team  epoch 1, 3 members\n");
}

//! Changes of teams, as their members are told of them.

use endseal_testing::Scratch;

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

/// Lets all people visit the hub often enough for changes and receipts to arrive.
fn settle(people: &[&Person<'_>]) {
    for person in [people, people, people].concat() {
        person.run(&["sync"]).ok();
    }
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

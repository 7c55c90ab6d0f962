//! Groups of sessions (MLS) between state directories, whose key packages, welcomes, commits and
//! messages travel in files.

use endseal_testing::Scratch;
use serde_json::Value;

use crate::killed_at_the_end::shim;
use crate::people::{Person, Ran};
use crate::sessions::texts;
use crate::sessions_killed::dies;

/// People who know each other.
fn people<'a, const N: usize>(names: [&'static str; N], scratch: &'a Scratch) -> [Person<'a>; N] {
    let people = names.map(|name| Person::new(name, scratch));
    for one in &people {
        for other in people.iter().filter(|it| it.name != one.name) {
            one.run(&["contacts", "add", other.name, &other.identity()]).ok();
        }
    }
    people
}

fn group(person: &Person<'_>, args: &[&str]) -> Ran {
    person.run(&[&["session", "group"], args].concat())
}

fn key_package(person: &Person<'_>, file: &str) {
    group(person, &["key-package", "-fo", file]).ok();
}

fn receive(person: &Person<'_>, file: &str) -> Value {
    person.run(&["--json", "session", "receive", file]).ok().json()
}

/// Sends a text, and sees that all others have it.
fn talk(from: &Person<'_>, name: &str, to: &[&Person<'_>]) {
    let text = format!("from {}", from.name);
    let args = ["session", "group", "send", name, "-fo", "talk.msgs"];
    from.feed(&args, text.as_bytes()).ok();
    for other in to {
        other.run(&["session", "inbox", "--take"]).ok();
        let received = receive(other, "talk.msgs");
        assert_eq!(received["delivered"], 1, "{} for {}: {received}", text, other.name);
        assert_eq!(texts(other), [text.as_str()]);
    }
}

fn members(person: &Person<'_>, name: &str) -> Vec<String> {
    let shown = person.run(&["--json", "session", "group", "members", name]).ok().json();
    let own = person.identity();
    let mut names: Vec<_> = shown["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| match it["name"].as_str() {
            Some(name) => name.to_owned(),
            None if it["identity"] == own.as_str() => person.name.to_owned(),
            None => "unknown".to_owned(),
        })
        .collect();
    names.sort();
    names
}

/// Alice makes a group and adds bob.
pub(crate) fn found(alice: &Person<'_>, bob: &Person<'_>) {
    group(alice, &["create", "team"]).ok();
    key_package(bob, "bob.package");
    let ran = group(alice, &["add", "team", "bob", "bob.package", "-o", "bob.welcome"]).ok();
    assert_eq!(ran.confirmation(), "bob added to the group team; the welcome is in 'bob.welcome'");
    let ran = bob.run(&["session", "receive", "bob.welcome"]).ok();
    let shown = ran.text();
    assert!(shown.starts_with("1 message: 0 delivered, 1 joined\n"), "{shown}");
    assert!(shown.contains("joined the group team, invited by alice"), "{shown}");
}

/// Adds a person to a group of others, who read the commit.
fn add(by: &Person<'_>, who: &Person<'_>, others: &[&Person<'_>]) {
    key_package(who, "who.package");
    group(by, &["add", "team", who.name, "who.package", "-fo", "add.msgs"]).ok();
    // Until the commit holds there is no welcome.
    assert_eq!(by.run(&["session", "group", "list"]).ok().text().matches("pending").count(), 1);
    for other in others {
        assert_eq!(receive(other, "add.msgs")["delivered"], 1);
    }
    let ran = group(by, &["accept", "team", "-fo", "who.welcome"]).ok();
    assert!(ran.confirmation().ends_with("; 1 welcome in 'who.welcome'"), "{}", ran.err);
    let joined = receive(who, "who.welcome");
    assert_eq!(joined["joined"][0]["inviter"]["name"], by.name);
}

#[test]
fn two_people_make_a_group_leave_it_and_join_again() {
    let scratch = Scratch::new();
    let [alice, bob] = people(["alice", "bob"], &scratch);
    found(&alice, &bob);
    talk(&alice, "team", &[&bob]);
    talk(&bob, "team", &[&alice]);
    // The files can be read again, the welcome too.
    let again = receive(&bob, "bob.welcome");
    assert_eq!((&again["already_delivered"], &again["failed"]), (&1.into(), &0.into()));

    // Bob proposes to leave; what alice commits removes him.
    group(&bob, &["leave", "team", "-o", "leave.msgs"]).ok();
    let ran = bob.feed(&["session", "group", "send", "team", "-o", "x"], b"no");
    ran.fails(2, "proposals for the group wait");
    receive(&alice, "leave.msgs");
    let shown = alice.run(&["session", "inbox", "--take"]).ok();
    assert!(shown.text().contains("proposes to remove bob"), "{}", shown.text());
    let ran = alice.feed(&["session", "group", "send", "team", "-o", "x"], b"no");
    ran.fails(2, "proposals for the group wait");
    group(&alice, &["update", "team", "-o", "update.msgs"]).ok();
    group(&alice, &["accept", "team"]).ok();
    assert_eq!(members(&alice, "team"), ["alice"]);
    receive(&bob, "update.msgs");
    let listed = group(&bob, &["list"]).ok();
    assert!(listed.text().contains("this device was removed"), "{}", listed.text());
    bob.feed(&["session", "group", "send", "team", "-o", "x"], b"no").fails(2, "not in the group");

    // Forgotten, and joined again, in a later epoch.
    group(&bob, &["forget", "team", "--yes"]).ok();
    assert!(group(&bob, &["list"]).ok().text().is_empty());
    group(&bob, &["members", "team"]).fails(2, "there is no group 'team'");
    key_package(&bob, "bob.package");
    group(&alice, &["add", "team", "bob", "bob.package", "-fo", "bob.welcome"]).ok();
    assert_eq!(receive(&bob, "bob.welcome")["joined"][0]["epoch"], 3);
    talk(&alice, "team", &[&bob]);
    talk(&bob, "team", &[&alice]);
}

#[test]
fn three_people_change_a_group_by_commits_that_hold_when_they_are_accepted() {
    let scratch = Scratch::new();
    let [alice, bob, carol] = people(["alice", "bob", "carol"], &scratch);
    found(&alice, &bob);
    add(&bob, &carol, &[&alice]);
    for person in [&alice, &bob, &carol] {
        assert_eq!(members(person, "team"), ["alice", "bob", "carol"]);
    }
    let others = [[&bob, &carol], [&alice, &carol], [&alice, &bob]];
    for (from, to) in [&alice, &bob, &carol].into_iter().zip(others) {
        talk(from, "team", &to);
    }

    // Two commits at the same time: alice's comes first, and bob's is taken back.
    group(&bob, &["update", "team", "-o", "second.msgs"]).ok();
    group(&bob, &["update", "team", "-o", "x"]).fails(2, "a commit is pending");
    group(&alice, &["remove", "team", "carol", "-o", "first.msgs"]).ok();
    for person in [&bob, &carol] {
        assert_eq!(receive(person, "first.msgs")["delivered"], 1);
    }
    // Her own file that comes back does what accept does.
    assert_eq!(receive(&alice, "first.msgs")["delivered"], 1);
    group(&bob, &["accept", "team"]).fails(2, "no commit is pending");
    let late = alice.run(&["--json", "session", "receive", "second.msgs"]);
    assert_eq!((late.code, &late.json()["failures"]["old-epoch"]), (1, &1.into()));
    assert_eq!(members(&alice, "team"), ["alice", "bob"]);
    talk(&bob, "team", &[&alice]);
    let ran = carol.feed(&["session", "group", "send", "team", "-o", "x"], b"no");
    ran.fails(2, "not in the group");

    // Taken back by hand, and then made.
    group(&alice, &["update", "team", "-o", "lost.msgs"]).ok();
    group(&alice, &["discard", "team"]).ok();
    group(&alice, &["discard", "team"]).fails(2, "no commit is pending");
    // Carol, who was removed, is added again without forgetting the group.
    add(&alice, &carol, &[&bob]);
    talk(&carol, "team", &[&alice, &bob]);
}

#[test]
fn what_makes_no_sense_in_a_group_is_refused() {
    let scratch = Scratch::new();
    let [alice, bob] = people(["alice", "bob"], &scratch);
    let mallory = Person::new("mallory", &scratch);
    mallory.run(&["contacts", "add", "bob", &bob.identity()]).ok();
    found(&alice, &bob);
    group(&alice, &["create", "team"]).fails(2, "there is a group of that id");
    group(&alice, &["create", ""]).fails(2, "not the name of a group");
    group(&alice, &["create", "a\u{1b}b"]).fails(2, "not the name of a group");
    group(&alice, &["create", &"x".repeat(64)]).fails(2, "not the name of a group");
    key_package(&mallory, "mallory.package");
    let args = ["add", "team", "bob", "mallory.package", "-o", "x"];
    group(&alice, &args).fails(1, "is not a key package of bob");
    scratch.write("junk", "no key package at all");
    group(&alice, &["add", "team", "bob", "junk", "-o", "x"]).fails(1, "not a key package");
    // Bob is in it already, and his key package was used.
    group(&alice, &["add", "team", "bob", "bob.package", "-o", "x"]).fails(1, "key package");
    group(&alice, &["remove", "team", &mallory.identity(), "-o", "x"]).fails(2, "not in the group");
    group(&alice, &["remove", "team", &alice.identity(), "-o", "x"]).fails(2, "remove itself");
    group(&alice, &["update", "team", "-o", "-"]).fails(2, "standard output");
    group(&alice, &["update", "team", "-o", "bob.package"]).fails(2, "exists already");
    group(&alice, &["key-package", "-o", "bob.package"]).fails(2, "exists already");
    group(&alice, &["forget", "nothing", "--yes"]).fails(2, "there is no group");
    assert!(!scratch.has("x"));
    // The store is as it was, with nothing in the outbox.
    talk(&alice, "team", &[&bob]);

    // An inviter who is no contact gets bob into no group, under whatever name.
    key_package(&bob, "second.package");
    group(&mallory, &["create", "friends"]).ok();
    group(&mallory, &["add", "friends", "bob", "second.package", "-o", "bad.welcome"]).ok();
    let ran = bob.run(&["--json", "session", "receive", "bad.welcome"]);
    let refused = ran.json();
    assert_eq!((ran.code, &refused["failures"]["stranger"]), (1, &1.into()));
    assert_eq!(refused["uninvited"][0]["inviter"]["identity"], mallory.identity());
    assert_eq!(group(&bob, &["list"]).ok().text().lines().count(), 1);
    // Once she is one, the same file does.
    bob.run(&["contacts", "add", "mallory", &mallory.identity()]).ok();
    assert_eq!(receive(&bob, "bad.welcome")["joined"][0]["group"], "friends");
    // For another device.
    assert_eq!(receive(&alice, "bad.welcome")["elsewhere"], 1);
}

/// Keys that are used once, and were used.
#[test]
fn a_spent_key_package_or_bundle_is_named_with_its_remedy() {
    let scratch = Scratch::new();
    let [alice, bob, carol] = people(["alice", "bob", "carol"], &scratch);
    found(&alice, &bob);
    // Alice has used it herself, and is told.
    group(&alice, &["create", "other"]).ok();
    let again = ["add", "other", "bob", "bob.package", "-o", "other.welcome"];
    let told = group(&alice, &again).fails(1, "the key package was used");
    assert!(told.err.contains("endseal session group key-package"), "{}", told.err);
    // One whose commit was taken back was not used.
    add(&alice, &carol, &[&bob]);
    key_package(&bob, "second.package");
    group(&alice, &["remove", "team", "bob", "-o", "x1"]).ok();
    group(&alice, &["accept", "team"]).ok();
    group(&alice, &["add", "team", "bob", "second.package", "-o", "x2"]).ok();
    group(&alice, &["discard", "team"]).ok();
    group(&alice, &["add", "other", "bob", "second.package", "-o", "x3"]).ok();
    // Carol cannot know that alice was given the same key package.
    group(&carol, &["create", "club"]).ok();
    group(&carol, &["add", "club", "bob", "bob.package", "-o", "club.welcome"]).ok();
    let received = bob.run(&["--json", "session", "receive", "club.welcome"]);
    let json = received.json();
    assert_eq!((received.code, &json["failures"]["key-package-used"]), (1, &1.into()), "{json}");
    assert_eq!(json["already_delivered"], 0);
    let told = bob.run(&["session", "receive", "club.welcome"]);
    let remedy = "endseal session group key-package -o FILE";
    assert!(told.code == 1 && told.err.contains(remedy), "{}", told.err);
    // The welcome that used it comes again.
    assert_eq!(receive(&bob, "bob.welcome")["already_delivered"], 1);

    bob.run(&["session", "bundle", "-o", "bob.bundle"]).ok();
    for (person, file) in [(&alice, "alice.msgs"), (&carol, "carol.msgs")] {
        person.run(&["session", "begin", "bob", "bob.bundle"]).ok();
        person.feed(&["session", "send", "bob", "-o", file], b"text").ok();
    }
    assert_eq!(receive(&bob, "alice.msgs")["delivered"], 1);
    let told = bob.run(&["session", "receive", "carol.msgs"]);
    let remedy = "endseal session bundle -o FILE";
    assert!(told.text().contains("no-prekey 1") && told.err.contains(remedy), "{}", told.err);
    assert_eq!(told.code, 1);
}

/// The process ends anywhere: what it made is written by the next run, and made once.
#[test]
fn a_welcome_that_was_not_written_waits() {
    let scratch = Scratch::new();
    let shim = shim(&scratch);
    let [alice, bob] = people(["alice", "bob"], &scratch);
    let (mut deaths, mut waited) = (0, 0);
    for (call, most) in [("fdatasync", 4), ("fsync", 14)] {
        for number in 1..=most {
            let [name, package, welcome, resumed] = ["group", "package", "welcome", "resumed"]
                .map(|it| format!("{it}-{call}-{number}"));
            group(&alice, &["create", &name]).ok();
            key_package(&bob, &package);
            let args = ["session", "group", "add", &name, "bob", &package, "-o", &welcome];
            let died = dies(alice.command(&args), &shim, &format!("{call}:{number}:before"));
            deaths += usize::from(died);
            // No run makes as many calls, so all of them were met.
            assert!(!died || number < most, "{call}:{number}");
            let ran = group(&alice, &["accept", &name, "-o", &resumed]);
            let file = if ran.code == 0 {
                waited += 1;
                &resumed
            } else {
                ran.fails(2, "no commit is pending");
                if !scratch.has(&welcome) {
                    alice.run(&args).ok();
                }
                &welcome
            };
            assert_eq!(receive(&bob, file)["joined"][0]["group"], name.as_str());
            talk(&alice, &name, &[&bob]);
        }
    }
    assert!(deaths >= 4 && waited >= 1, "{deaths} deaths, {waited} waited");
}

#[test]
fn old_notes_and_key_packages_are_pruned() {
    let scratch = Scratch::new();
    let [alice, bob] = people(["alice", "bob"], &scratch);
    found(&alice, &bob);
    let pruned = bob.run(&["--json", "session", "prune", "--strangers"]).ok().json();
    let nothing = [&pruned["tombstones"], &pruned["key_packages"], &pruned["sessions"]];
    assert_eq!(nothing, [&Value::from(0); 3]);
    bob.run(&["session", "prune", "--older-than", "0s"]).fails(2, "expected 1d to");
    talk(&alice, "team", &[&bob]);
    assert_eq!(
        bob.run(&["session", "prune"]).ok().confirmation(),
        "deleted: 0 notes, 0 parked messages, 0 key packages, 0 sessions"
    );
}

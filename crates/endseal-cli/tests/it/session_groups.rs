//! MLS groups between state directories, whose key packages, welcomes, commits and messages are
//! exchanged in files.

use endseal_testing::Scratch;
use serde_json::Value;

use crate::killed_at_the_end::shim;
use crate::messages::{self, Hub, members as members_of};
use crate::people::{Person, Ran};
use crate::session_groups_killed::dies;

/// Makes persons who have each other as contacts.
fn people<'a, const N: usize>(names: [&'static str; N], scratch: &'a Scratch) -> [Person<'a>; N] {
    let people = names.map(|name| Person::new(name, scratch));
    for one in &people {
        for other in people.iter().filter(|it| it.name != one.name) {
            one.run(&["contacts", "add", other.name, &other.identity()]).ok();
        }
    }
    people
}

/// Makes Alice and Bob, who are in the group `team`.
pub(crate) fn team(scratch: &Scratch) -> [Person<'_>; 2] {
    let [alice, bob] = people(["alice", "bob"], scratch);
    found(&alice, &bob);
    [alice, bob]
}

/// Returns the objects of the inbox.
fn inbox(person: &Person<'_>) -> Vec<Value> {
    let ran = person.run(&["--json", "session", "group", "inbox"]).ok();
    ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the texts of the inbox.
pub(crate) fn texts(person: &Person<'_>) -> Vec<String> {
    inbox(person).iter().map(|it| it["text"].as_str().unwrap().to_owned()).collect()
}

fn group(person: &Person<'_>, args: &[&str]) -> Ran {
    person.run(&[&["session", "group"], args].concat())
}

fn key_package(person: &Person<'_>, file: &str) {
    group(person, &["key-package", "-fo", file]).ok();
}

fn receive(person: &Person<'_>, file: &str) -> Value {
    person.run(&["--json", "session", "group", "receive", file]).ok().json()
}

/// Sends a text, and checks that all others have it.
fn talk(from: &Person<'_>, name: &str, to: &[&Person<'_>]) {
    let text = format!("from {}", from.name);
    let args = ["session", "group", "send", name, "-fo", "talk.msgs"];
    from.feed(&args, text.as_bytes()).ok();
    for other in to {
        other.run(&["session", "group", "inbox", "--take"]).ok();
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

/// Alice makes a group and adds Bob.
fn found(alice: &Person<'_>, bob: &Person<'_>) {
    group(alice, &["create", "team"]).ok();
    key_package(bob, "bob.package");
    let ran = group(alice, &["add", "team", "bob", "bob.package", "-o", "bob.welcome"]).ok();
    assert_eq!(ran.confirmation(), "bob added to the group team; the welcome is in 'bob.welcome'");
    let ran = bob.run(&["session", "group", "receive", "bob.welcome"]).ok();
    let shown = ran.text();
    assert!(shown.starts_with("1 message: 0 delivered, 1 joined\n"), "{shown}");
    assert!(shown.contains("joined the group team, invited by alice"), "{shown}");
}

/// Adds a person to a group. The other members receive the commit.
fn add(by: &Person<'_>, who: &Person<'_>, others: &[&Person<'_>]) {
    key_package(who, "who.package");
    group(by, &["add", "team", who.name, "who.package", "-fo", "add.msgs"]).ok();
    // There is no welcome until the commit is accepted.
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
    let [alice, bob] = team(&scratch);
    talk(&alice, "team", &[&bob]);
    talk(&bob, "team", &[&alice]);
    // The files can be received again, including the welcome.
    let again = receive(&bob, "bob.welcome");
    assert_eq!((&again["already_delivered"], &again["failed"]), (&1.into(), &0.into()));

    // Bob proposes to leave, and Alice's commit removes him.
    group(&bob, &["leave", "team", "-o", "leave.msgs"]).ok();
    let ran = bob.feed(&["session", "group", "send", "team", "-o", "x"], b"no");
    ran.fails(2, "proposals for the group wait");
    receive(&alice, "leave.msgs");
    let shown = alice.run(&["session", "group", "inbox", "--take"]).ok();
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

    // Bob forgets the group, and joins it again in a later epoch.
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

    // Two commits at the same time: Alice's comes first, and Bob's is discarded.
    group(&bob, &["update", "team", "-o", "second.msgs"]).ok();
    group(&bob, &["update", "team", "-o", "x"]).fails(2, "a commit is pending");
    group(&alice, &["remove", "team", "carol", "-o", "first.msgs"]).ok();
    for person in [&bob, &carol] {
        assert_eq!(receive(person, "first.msgs")["delivered"], 1);
    }
    // Receiving her own file has the same effect as accept.
    assert_eq!(receive(&alice, "first.msgs")["delivered"], 1);
    group(&bob, &["accept", "team"]).fails(2, "no commit is pending");
    let late = alice.run(&["--json", "session", "group", "receive", "second.msgs"]);
    assert_eq!((late.code, &late.json()["failures"]["old-epoch"]), (1, &1.into()));
    assert_eq!(members(&alice, "team"), ["alice", "bob"]);
    talk(&bob, "team", &[&alice]);
    let ran = carol.feed(&["session", "group", "send", "team", "-o", "x"], b"no");
    ran.fails(2, "not in the group");

    // The commit is discarded by hand, and then made again.
    group(&alice, &["update", "team", "-o", "lost.msgs"]).ok();
    group(&alice, &["discard", "team"]).ok();
    group(&alice, &["discard", "team"]).fails(2, "no commit is pending");
    // Carol was removed, and is added again without forgetting the group.
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
    group(&alice, &["create", "team"]).fails(2, "a group with that id exists already");
    group(&alice, &["create", ""]).fails(2, "not the name of a group");
    group(&alice, &["create", "a\u{1b}b"]).fails(2, "not the name of a group");
    group(&alice, &["create", &"x".repeat(64)]).fails(2, "not the name of a group");
    key_package(&mallory, "mallory.package");
    let args = ["add", "team", "bob", "mallory.package", "-o", "x"];
    group(&alice, &args).fails(1, "is not a key package of bob");
    scratch.write("junk", "no key package at all");
    group(&alice, &["add", "team", "bob", "junk", "-o", "x"]).fails(1, "not a key package");
    // Bob is a member already, and his key package was used.
    group(&alice, &["add", "team", "bob", "bob.package", "-o", "x"]).fails(1, "key package");
    group(&alice, &["remove", "team", &mallory.identity(), "-o", "x"]).fails(2, "not in the group");
    group(&alice, &["remove", "team", &alice.identity(), "-o", "x"]).fails(2, "remove itself");
    group(&alice, &["update", "team", "-o", "-"]).fails(2, "standard output");
    group(&alice, &["update", "team", "-o", "bob.package"]).fails(2, "exists already");
    group(&alice, &["key-package", "-o", "bob.package"]).fails(2, "exists already");
    group(&alice, &["forget", "nothing", "--yes"]).fails(2, "there is no group");
    assert!(!scratch.has("x"));
    // The store is unchanged, with an empty outbox.
    talk(&alice, "team", &[&bob]);

    // An inviter who is not a contact cannot add Bob to a group, whatever its name.
    key_package(&bob, "second.package");
    group(&mallory, &["create", "friends"]).ok();
    group(&mallory, &["add", "friends", "bob", "second.package", "-o", "bad.welcome"]).ok();
    let ran = bob.run(&["--json", "session", "group", "receive", "bad.welcome"]);
    let refused = ran.json();
    assert_eq!((ran.code, &refused["failures"]["unknown-sender"]), (1, &1.into()));
    assert_eq!(refused["uninvited"][0]["inviter"]["identity"], mallory.identity());
    assert_eq!(group(&bob, &["list"]).ok().text().lines().count(), 1);
    // When she is a contact, the same file is accepted.
    bob.run(&["contacts", "add", "mallory", &mallory.identity()]).ok();
    assert_eq!(receive(&bob, "bad.welcome")["joined"][0]["group"], "friends");
    // The welcome is for another device.
    assert_eq!(receive(&alice, "bad.welcome")["elsewhere"], 1);
}

/// Key packages are used once. These were used before.
#[test]
fn a_spent_key_package_is_named_with_its_remedy() {
    let scratch = Scratch::new();
    let [alice, bob, carol] = people(["alice", "bob", "carol"], &scratch);
    found(&alice, &bob);
    // Alice has used it herself, and gets an error.
    group(&alice, &["create", "other"]).ok();
    let again = ["add", "other", "bob", "bob.package", "-o", "other.welcome"];
    let told = group(&alice, &again).fails(1, "the key package was used");
    assert!(told.err.contains("endseal session group key-package"), "{}", told.err);
    // A key package was not used if its commit was discarded.
    add(&alice, &carol, &[&bob]);
    key_package(&bob, "second.package");
    group(&alice, &["remove", "team", "bob", "-o", "x1"]).ok();
    group(&alice, &["accept", "team"]).ok();
    group(&alice, &["add", "team", "bob", "second.package", "-o", "x2"]).ok();
    group(&alice, &["discard", "team"]).ok();
    group(&alice, &["add", "other", "bob", "second.package", "-o", "x3"]).ok();
    // Carol cannot know that Alice received the same key package.
    group(&carol, &["create", "club"]).ok();
    group(&carol, &["add", "club", "bob", "bob.package", "-o", "club.welcome"]).ok();
    let received = bob.run(&["--json", "session", "group", "receive", "club.welcome"]);
    let json = received.json();
    assert_eq!((received.code, &json["failures"]["key-package-used"]), (1, &1.into()), "{json}");
    assert_eq!(json["already_delivered"], 0);
    let told = bob.run(&["session", "group", "receive", "club.welcome"]);
    let remedy = "endseal session group key-package -o FILE";
    assert!(told.code == 1 && told.err.contains(remedy), "{}", told.err);
    // The welcome that used it is received again.
    assert_eq!(receive(&bob, "bob.welcome")["already_delivered"], 1);
}

#[test]
fn what_is_no_text_is_carried_exactly() {
    let scratch = Scratch::new();
    let [alice, bob] = team(&scratch);
    let send = ["session", "group", "send", "team", "-fo", "out"];
    // MLS pads a message to one of several lengths below 1 MiB.
    for content in [&b""[..], &[0xfe, 0], &[0xff; 830_000]] {
        alice.feed(&send, content).ok();
        receive(&bob, "out");
        group(&bob, &["--json", "inbox", "--take", "-fo", "taken"]).ok();
        let taken: Value = serde_json::from_slice(&scratch.read("taken")).unwrap();
        let data: String = content.iter().map(|byte| format!("{byte:02x}")).collect();
        let field = if content.is_empty() { "text" } else { "data" };
        assert!(taken[field] == data, "{field} of {} bytes", content.len());
    }
    let send = ["session", "group", "send", "team", "-o", "long"];
    let most = [0xff; (1 << 20) - 512];
    let ran = alice.feed(&send, &[&most[..], b"x"].concat());
    ran.fails(2, "text 1 is longer than a message may be");
    assert!(!scratch.has("long"));
    let two = [b"short\n", &most[..], b"x\n"].concat();
    let ran = alice.feed(&[&send[..], &["--lines"]].concat(), &two);
    ran.fails(2, "text 2 is longer than a message may be");
    // Not even the first text was encrypted.
    assert!(!scratch.has("long"));
    let ran = group(&alice, &["send", "team", "--resume", "-o", "long"]).ok();
    assert_eq!(ran.confirmation(), "nothing waits for the group team");
}

#[test]
fn a_file_that_was_cut_or_changed_gives_what_is_whole() {
    let scratch = Scratch::new();
    let [alice, bob] = team(&scratch);
    let send = ["session", "group", "send", "team", "--lines", "-o", "out"];
    alice.feed(&send, b"1\n2\n\x1b[2J\r\n4").ok();
    let good = scratch.read("out");
    // A record has kind, id, group, length and the message.
    let record = |at: usize| {
        let at = at + 1 + 16 + 1 + 4;
        at + 4 + u32::from_le_bytes(good[at..at + 4].try_into().unwrap()) as usize
    };
    let third = record(record(16));
    scratch.write("cut", &good[..third + 50]);
    let ran = group(&bob, &["receive", "cut"]).fails(1, "the session file was cut short");
    assert!(ran.err.contains("2 messages: 2 delivered"), "{}", ran.err);
    assert_eq!(texts(&bob), ["1", "2"]);
    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    scratch.write("bad", &bad);
    let ran = group(&bob, &["--json", "receive", "bad"]);
    assert_eq!((ran.code, &ran.json()["failures"]["authentication"]), (1, &1.into()));
    let shown = group(&bob, &["inbox"]).ok();
    let lines = ["1", "2", "\u{fffd}[2J"].map(|text| format!("alice in team> {text}\n"));
    assert_eq!(shown.text(), lines.concat());
    // The first file is invalid. The files after it are still received.
    scratch.write("other", b"no such file at all");
    group(&bob, &["receive", "other"]).fails(1, "it is not a session file");
    group(&bob, &["receive", "out", "out"]).ok();
    assert_eq!(texts(&bob), ["1", "2", "\u{1b}[2J", "4"]);
}

/// More messages than a ratchet keeps keys for, in the wrong order of files.
#[test]
fn files_are_received_in_any_order() {
    let scratch = Scratch::new();
    let [alice, bob] = team(&scratch);
    for (name, from) in [("a", 0), ("b", 100)] {
        let lines: Vec<_> = (from..from + 100).map(|n| format!("line {n}")).collect();
        let send = ["session", "group", "send", "team", "--lines", "-o", name];
        alice.feed(&send, lines.join("\n").as_bytes()).ok();
    }
    let ran = group(&bob, &["receive", "b", "a"]).ok();
    assert_eq!(ran.text(), "200 messages: 200 delivered\n");
    assert_eq!(texts(&bob).len(), 200);
}

/// Texts of the hub are in the same inbox of the store.
#[test]
fn the_inbox_of_groups_takes_no_text_of_the_hub() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members_of(&scratch, &hub);
    found(&alice, &bob);
    alice.run(&["say", "bob", "over the hub"]).ok();
    alice.run(&["sync"]).ok();
    bob.run(&["sync"]).ok();
    talk(&alice, "team", &[&bob]);
    let ran = group(&bob, &["inbox", "--take"]).ok();
    assert_eq!(ran.text(), "alice in team> from alice\n");
    assert_eq!(messages::texts(&bob.run(&["inbox"]).ok()), ["alice> over the hub"]);
}

/// The process is killed at any point. The next run writes the welcome, exactly once.
#[test]
fn a_welcome_that_was_not_written_waits() {
    let (deaths, waited) = die_before_welcomes(5);
    assert!(deaths >= 1 && waited >= 1, "{deaths} deaths, {waited} waited");
}

#[test]
#[ignore = "nightly: a dozen processes for each fsync"]
fn a_welcome_that_was_not_written_waits_whatever_fsync_is_the_last() {
    let (deaths, waited) = die_before_welcomes(1);
    assert!(deaths >= 4 && waited >= 1, "{deaths} deaths, {waited} waited");
}

/// Adds members by processes that are killed before each `step`th fsync. Returns the number of
/// killed processes, and the number of those that left a waiting welcome.
fn die_before_welcomes(step: usize) -> (usize, usize) {
    let scratch = Scratch::new();
    let shim = shim(&scratch);
    let [alice, bob] = people(["alice", "bob"], &scratch);
    let (mut deaths, mut waited) = (0, 0);
    for (call, most) in [("fdatasync", 4), ("fsync", 14)] {
        for number in (1..=most).rev().step_by(step) {
            let [name, package, welcome, resumed] = ["group", "package", "welcome", "resumed"]
                .map(|it| format!("{it}-{call}-{number}"));
            group(&alice, &["create", &name]).ok();
            key_package(&bob, &package);
            let args = ["session", "group", "add", &name, "bob", &package, "-o", &welcome];
            let died = dies(alice.command(&args), &shim, &format!("{call}:{number}:before"));
            deaths += usize::from(died);
            // A run makes fewer calls than the last number, so that every call was tested.
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
    (deaths, waited)
}

#[test]
fn old_notes_and_key_packages_are_pruned() {
    let scratch = Scratch::new();
    let [alice, bob] = team(&scratch);
    let pruned = bob.run(&["--json", "session", "prune", "--unknown-senders"]).ok().json();
    let nothing = [&pruned["tombstones"], &pruned["key_packages"], &pruned["sessions"]];
    assert_eq!(nothing, [&Value::from(0); 3]);
    bob.run(&["session", "prune", "--older-than", "0s"]).fails(2, "expected 1d to");
    talk(&alice, "team", &[&bob]);
    assert_eq!(
        bob.run(&["session", "prune"]).ok().confirmation(),
        "deleted: 0 notes, 0 parked messages, 0 key packages, 0 sessions"
    );
}

//! Sessions between two state directories, whose messages travel in files.

use std::io::Write as _;
use std::process::Stdio;

use endseal_testing::Scratch;
use serde_json::Value;

use crate::people::Person;

/// Alice and Bob, who know each other; alice has a session with bob's device 7, on which nothing
/// was sent.
pub(crate) fn correspondents(scratch: &Scratch) -> [Person<'_>; 2] {
    let people = [("alice", "1"), ("bob", "7")].map(|(name, device)| {
        let person = Person { name, scratch };
        person.run(&["init", "--no-passphrase", "--device", device]).ok();
        person
    });
    let [alice, bob] = &people;
    for (one, other) in [(alice, bob), (bob, alice)] {
        one.run(&["contacts", "add", other.name, &other.identity()]).ok();
    }
    bob.run(&["session", "bundle", "-o", "bob.bundle"]).ok();
    alice.run(&["session", "begin", "bob", "bob.bundle"]).ok();
    people
}

/// The objects of the inbox.
pub(crate) fn inbox(person: &Person<'_>) -> Vec<Value> {
    let ran = person.run(&["--json", "session", "inbox"]).ok();
    ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The texts of the inbox.
pub(crate) fn texts(person: &Person<'_>) -> Vec<String> {
    inbox(person).iter().map(|it| it["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn messages_go_to_and_fro() {
    let scratch = Scratch::new();
    let [alice, bob] = correspondents(&scratch);
    let ran =
        alice.feed(&["session", "send", "bob", "--lines", "-o", "out"], b"one\r\ntwo\n\nlast");
    assert_eq!(ran.ok().confirmation(), "4 messages for bob in 'out'");
    let ran = bob.run(&["session", "receive", "out"]).ok();
    assert_eq!(ran.text(), "4 messages: 4 delivered\n");
    let shown = bob.run(&["session", "inbox"]).ok();
    assert_eq!(shown.text(), "alice> one\nalice> two\nalice> \nalice> last\n");
    let ran = bob.run(&["--json", "session", "receive", "out"]).ok().json();
    assert_eq!((&ran["delivered"], &ran["already_delivered"]), (&0.into(), &4.into()));
    // An answer on the same session: no bundle of alice is needed.
    scratch.write("answer", b"a \x1b[2J line\nand another");
    bob.run(&["session", "send", "alice", "answer", "-o", "back"]).ok();
    alice.run(&["session", "receive", "back"]).ok();
    let shown = alice.run(&["session", "inbox"]).ok();
    assert_eq!(shown.text(), "bob> a \u{fffd}[2J line\n    and another\n");
    let exact = inbox(&alice);
    assert_eq!(exact[0]["text"], "a \u{1b}[2J line\nand another");
    assert_eq!((&exact[0]["sender_name"], &exact[0]["device"]), (&"bob".into(), &7.into()));
    assert_eq!(exact[0]["sender"], bob.identity());
    // Taken once.
    assert_eq!(bob.run(&["session", "inbox", "--take"]).ok().text().lines().count(), 4);
    assert!(bob.run(&["session", "inbox"]).ok().text().is_empty());
    let ran = bob.run(&["session", "receive", "out"]).ok();
    assert_eq!(ran.text(), "4 messages: 0 delivered, 4 delivered before\n");
    let shown = alice.run(&["--json", "session", "show", "bob"]).ok().json();
    assert_eq!(shown["devices"][0]["sessions"][0]["answered"], true);
    assert_eq!(shown["waiting"], 0);
}

#[test]
fn what_is_no_text_is_carried_exactly() {
    let scratch = Scratch::new();
    let [alice, bob] = correspondents(&scratch);
    let most = vec![0xff; (1 << 20) - 512];
    for content in [&b""[..], &[0xfe, 0], &most] {
        alice.feed(&["session", "send", "bob", "-fo", "out"], content).ok();
        bob.run(&["session", "receive", "out"]).ok();
        bob.run(&["--json", "session", "inbox", "--take", "-fo", "taken"]).ok();
        let taken: Value = serde_json::from_slice(&scratch.read("taken")).unwrap();
        let data: String = content.iter().map(|byte| format!("{byte:02x}")).collect();
        let field = if content.is_empty() { "text" } else { "data" };
        assert!(taken[field] == data, "{field} of {} bytes", content.len());
    }
    let ran = alice.feed(&["session", "send", "bob", "-o", "long"], &[&most[..], b"x"].concat());
    ran.fails(2, "text 1 is longer than a message may be");
    assert!(!scratch.has("long"));
    let two = [b"short\n", &most[..], b"x\n"].concat();
    let ran = alice.feed(&["session", "send", "bob", "--lines", "-o", "long"], &two);
    ran.fails(2, "text 2 is longer than a message may be");
    // Not even the first.
    assert!(!scratch.has("long"));
    let ran = alice.run(&["session", "send", "bob", "--resume", "-o", "long"]).ok();
    assert_eq!(ran.confirmation(), "nothing waits for bob");
}

#[test]
fn safety_numbers_are_equal_and_confirmed_by_hand() {
    let scratch = Scratch::new();
    let [alice, bob] = correspondents(&scratch);
    let number = alice.run(&["session", "verify", "bob"]).ok();
    assert_eq!(number.text(), bob.run(&["session", "verify", "alice"]).ok().text());
    assert_eq!(number.text().chars().filter(char::is_ascii_digit).count(), 60);
    let verified = |person: &Person<'_>, name| {
        person.run(&["--json", "session", "show", name]).ok().json()["verified"].clone()
    };
    assert_eq!(verified(&alice, "bob"), false);
    alice.run(&["session", "verify", "bob", "--confirm"]).ok();
    assert_eq!(verified(&alice, "bob"), true);
    alice.run(&["session", "verify", "bob", "--unconfirm"]).ok();
    assert_eq!(verified(&alice, "bob"), false);
    bob.run(&["session", "verify", "alice", "--confirm"]).fails(2, "no device of alice is known");
    alice.run(&["session", "verify", &alice.identity()]).fails(2, "your own identity");
}

#[test]
fn a_bundle_serves_once_and_a_fallback_again() {
    let scratch = Scratch::new();
    let [alice, bob] = correspondents(&scratch);
    let carol = Person::new("carol", &scratch);
    carol.run(&["contacts", "add", "bob", &bob.identity()]).ok();
    std::fs::create_dir(scratch.path("bundles")).unwrap();
    bob.run(&["session", "bundle", "--count", "2", "--fallback", "-o", "bundles"]).ok();
    let mut files: Vec<_> = std::fs::read_dir(scratch.path("bundles"))
        .unwrap()
        .map(|entry| entry.unwrap().path().display().to_string())
        .collect();
    files.sort_by_key(|file| file.contains("fallback"));
    assert_eq!(files.len(), 3);
    let greet = |person: &Person<'_>, bundle: &str, code, failures: &str| {
        person.run(&["session", "begin", "-f", "bob", bundle]).ok();
        person.feed(&["session", "send", "bob", "-fo", "out"], b"hello").ok();
        let ran = bob.run(&["--json", "session", "receive", "out"]);
        assert_eq!((ran.code, ran.json()["failures"].to_string().as_str()), (code, failures));
    };
    greet(&alice, &files[0], 0, "{}");
    greet(&carol, &files[0], 1, r#"{"no-prekey":1}"#);
    greet(&carol, &files[2], 0, "{}");
    greet(&alice, &files[2], 0, "{}");
    // Bob's file bundle of the beginning still serves, and who is no contact is named by identity.
    greet(&carol, "bob.bundle", 0, "{}");
    let shown = bob.run(&["session", "inbox"]).ok();
    assert!(shown.text().contains(&format!("{}> hello\n", carol.identity())), "{}", shown.text());
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let scratch = Scratch::new();
    let [alice, bob] = correspondents(&scratch);
    let carol = Person::new("carol", &scratch);
    std::fs::remove_dir_all(scratch.path("carol/store")).unwrap();
    for args in [&["session", "list"][..], &["session", "receive", "x"], &["store", "check"]] {
        carol.run(args).fails(4, "there is no store");
    }
    carol.run(&["contacts", "add", "mallory", &alice.identity()]).ok();
    let ran = carol.run(&["session", "begin", "mallory", "bob.bundle"]);
    ran.fails(1, "the bundle is not one of mallory");
    assert!(!scratch.has("carol/store"));
    let mut bundle = scratch.read("bob.bundle");
    bundle[280] ^= 1;
    scratch.write("bad.bundle", &bundle);
    alice.run(&["session", "begin", "bob", "bad.bundle"]).fails(1, "is not a prekey bundle");
    scratch.write("long.bundle", [0; 344]);
    alice.run(&["session", "begin", "bob", "long.bundle"]).fails(3, "longer than 343 bytes");
    bob.run(&["session", "begin", &bob.identity(), "bob.bundle"]).fails(2, "of this device");
    // Messages on a second session from a bundle that was used would be lost.
    alice.run(&["session", "begin", "bob", "bob.bundle"]).fails(2, "there is a session with bob");
    bob.run(&["session", "bundle", "--count", "2", "-o", "x"]).fails(2, "is not a folder");
    bob.run(&["session", "bundle", "-o", "bob.bundle"]).fails(2, "exists already");
    let ran = bob.feed(&["session", "send", "alice", "-o", "x"], b"too early");
    ran.fails(2, "there is no session with the device");
    let ran = alice.feed(&["session", "send", "bob", "-o", "bob.bundle"], b"text");
    ran.fails(2, "exists already");
    alice.feed(&["session", "send", "bob", "-o", "-"], b"text").fails(2, "standard output");
    let ran = alice.run(&["--json", "session", "show", "bob"]).ok().json();
    assert_eq!(ran["waiting"], 0);
    alice.run(&["session", "reset", "bob", "--device", "8", "--yes"]).fails(2, "no such device");
    let ran = alice.run(&["session", "reset", "bob"]);
    if ran.code != 0 {
        // Without a terminal; with one, nobody answers within the test's time.
        ran.fails(2, "there is no answer");
    }
}

#[test]
fn a_file_that_was_cut_or_changed_gives_what_is_whole() {
    let scratch = Scratch::new();
    let [alice, bob] = correspondents(&scratch);
    alice.feed(&["session", "send", "bob", "--lines", "-o", "out"], b"1\n2\n3\n4").ok();
    let good = scratch.read("out");
    let record = (good.len() - 16) / 4;
    scratch.write("cut", &good[..16 + 2 * record + 50]);
    let ran = bob.run(&["session", "receive", "cut"]).fails(1, "the session file was cut short");
    assert!(ran.err.contains("2 messages: 2 delivered"), "{}", ran.err);
    assert_eq!(texts(&bob), ["1", "2"]);
    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    scratch.write("bad", &bad);
    let ran = bob.run(&["--json", "session", "receive", "bad"]);
    assert_eq!((ran.code, &ran.json()["failures"]["authentication"]), (1, &1.into()));
    assert_eq!(texts(&bob), ["1", "2", "3"]);
    // Another file first: nothing of what follows it is lost.
    scratch.write("other", b"no such file at all");
    bob.run(&["session", "receive", "other"]).fails(1, "it is not a session file");
    bob.run(&["session", "receive", "out", "out"]).ok();
    assert_eq!(texts(&bob), ["1", "2", "3", "4"]);
    // Alice's own file is for bob.
    let ran = alice.run(&["session", "receive", "out"]).ok();
    assert_eq!(ran.text(), "4 messages: 0 delivered, 4 for other devices\n");
}

#[test]
fn one_process_at_a_time_has_the_store() {
    let scratch = Scratch::new();
    let [alice, _bob] = correspondents(&scratch);
    let args = ["session", "send", "bob", "--lines", "-o", "out"];
    let mut child =
        alice.command(&args).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // More than the pipe holds: it has begun to read, and has the store.
    let line = [b'x'; 99];
    (0..4_000).for_each(|_| stdin.write_all(&[&line[..], b"\n"].concat()).unwrap());
    let ran = alice.run(&["session", "list"]).fails(3, "cannot open the store");
    assert!(ran.err.contains("another process has the store open"), "{}", ran.err);
    assert!(ran.err.contains("--wait"), "{}", ran.err);
    drop(stdin);
    alice.run(&["session", "--wait", "60s", "list"]).ok();
    assert!(child.wait().unwrap().success());
}

/// More than a ratchet keeps keys for, in the wrong order of files.
#[test]
fn files_are_received_in_any_order() {
    let scratch = Scratch::new();
    let [alice, bob] = correspondents(&scratch);
    for (name, from) in [("a", 0), ("b", 100)] {
        let lines: Vec<_> = (from..from + 100).map(|n| format!("line {n}")).collect();
        alice
            .feed(&["session", "send", "bob", "--lines", "-o", name], lines.join("\n").as_bytes())
            .ok();
    }
    let ran = bob.run(&["session", "receive", "b", "a"]).ok();
    assert_eq!(ran.text(), "200 messages: 200 delivered\n");
    assert_eq!(texts(&bob).len(), 200);
}

/// The first run cannot write its file, and the second one has the bundle still.
#[test]
fn a_bundle_that_was_not_written_is_written_by_the_next_run() {
    let scratch = Scratch::new();
    let [_, bob] = correspondents(&scratch);
    // Writing fails after the bundle was made.
    bob.run(&["session", "bundle", "-o", "missing/bundle"]).fails(3, "missing/bundle");
    bob.run(&["session", "bundle", "-o", "one"]).ok();
    bob.run(&["session", "bundle", "-o", "two"]).ok();
    assert_ne!(scratch.read("one"), scratch.read("two"));
    bob.run(&["session", "bundle", "-o", "two"]).fails(2, "two");
}

//! The store: protection, damage and backups.

use std::fs;

use endseal_testing::Scratch;

use crate::people::Person;
use crate::session_groups::{team, texts};

#[test]
fn the_store_is_under_the_device() {
    let scratch = Scratch::new();
    scratch.write("right", "correct horse\n");
    scratch.write("wrong", "battery staple\n");
    let alice = Person { name: "alice", scratch: &scratch };
    alice.run(&["--passphrase-file", "right", "init", "--protect-device"]).ok();
    let file = "alice/store/store.db";
    let before = scratch.read(file);
    alice.run(&["--passphrase-file", "wrong", "session", "group", "list"]).fails(1, "passphrase");
    alice.run(&["session", "group", "list"]).fails(2, "a passphrase is needed");
    assert_eq!(scratch.read(file), before);
    alice.run(&["--passphrase-file", "right", "session", "group", "list"]).ok();
    // Another device cannot open it.
    alice.run(&["init", "--force", "--no-passphrase"]).ok();
    fs::rename(scratch.path("alice/store"), scratch.path("alice/store.new")).unwrap();
    fs::rename(scratch.path("alice/store.old-1"), scratch.path("alice/store")).unwrap();
    let ran = alice.run(&["session", "group", "list"]).fails(4, "cannot open the store");
    assert!(ran.err.contains("another device"), "{}", ran.err);
    // The old device can, independent of the identity.
    let old = fs::read(scratch.path("alice/device.endseal.old-1")).unwrap();
    scratch.write("alice/device.endseal", old);
    alice.run(&["--passphrase-file", "right", "session", "group", "list"]).ok();
}

#[test]
fn a_damaged_store_is_told_of_and_left_as_it_is() {
    let scratch = Scratch::new();
    let [alice, bob] = team(&scratch);
    alice
        .feed(&["session", "group", "send", "team", "--lines", "-o", "out"], &b"text\n".repeat(300))
        .ok();
    bob.run(&["session", "group", "receive", "out"]).ok();
    bob.run(&["store", "check"]).ok();
    let good = scratch.read("bob/store/store.db");
    // Damage the first page, and another one.
    let mut bad = good.clone();
    bad[2_000] ^= 1;
    scratch.write("bob/store/store.db", &bad);
    for args in [
        &["session", "group", "list"][..],
        &["store", "stats"],
        &["session", "group", "receive", "out"],
    ] {
        let ran = bob.run(args).fails(4, "cannot open the store");
        assert!(ran.err.contains("the store is damaged"), "{}", ran.err);
        assert!(ran.err.contains("store restore"), "{}", ran.err);
        assert!(scratch.read("bob/store/store.db") == bad);
    }
    let key = scratch.read("bob/store/key");
    scratch.write("bob/store/store.db", &good);
    scratch.write("bob/store/key", [&key[..161], &[key[161] ^ 1]].concat());
    bob.run(&["session", "group", "list"]).fails(4, "cannot open the store");
    scratch.write("bob/store/key", key);
    let page = good.len() - 3 * 4096;
    let mut bad = good.clone();
    bad[page + 100] ^= 1;
    scratch.write("bob/store/store.db", &bad);
    let ran = bob.run(&["--json", "store", "check", "--read-data"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(!ran.json()["findings"].as_array().unwrap().is_empty());
    scratch.write("bob/store/store.db", &good);
    bob.run(&["store", "check", "--read-data"]).ok();
    let ran = bob.run(&["--json", "store", "stats"]).ok().json();
    // The file is older than the state that was opened last, which is detected too.
    assert_eq!((&ran["rows"]["inbox"], &ran["restored"]), (&300.into(), &true.into()));
}

/// Checks that Bob's restored store does not send to the group, and that the hint is to join it
/// again.
#[track_caller]
fn sends_no_more(bob: &Person<'_>) {
    let ran = bob.feed(&["session", "group", "send", "team", "-o", "back"], b"back");
    let ran = ran.fails(1, "the store was restored: join the group again");
    assert!(ran.err.contains("endseal session group key-package"), "{}", ran.err);
}

#[test]
fn a_plain_copy_that_is_restored_does_not_send() {
    let scratch = Scratch::new();
    let [alice, bob] = team(&scratch);
    alice.feed(&["session", "group", "send", "team", "-o", "first"], b"first").ok();
    bob.run(&["session", "group", "receive", "first"]).ok();
    fs::rename(scratch.path("bob/store"), scratch.path("copy")).unwrap();
    let ran = bob.run(&["store", "restore", "copy"]).ok();
    assert!(ran.err.contains("endseal devices renew"), "{}", ran.err);
    assert_eq!(texts(&bob), ["first"]);
    sends_no_more(&bob);
}

#[test]
fn a_restored_store_receives_and_does_not_send() {
    let scratch = Scratch::new();
    let [alice, bob] = team(&scratch);
    alice.feed(&["session", "group", "send", "team", "-o", "first"], b"first").ok();
    bob.run(&["session", "group", "receive", "first"]).ok();
    bob.run(&["store", "backup", "copy"]).ok();
    bob.run(&["store", "backup", "copy"]).fails(2, "already");
    bob.run(&["store", "restore", "copy"]).fails(2, "cannot restore");
    fs::rename(scratch.path("bob/store"), scratch.path("lost")).unwrap();
    bob.run(&["store", "restore", "missing"]).fails(2, "cannot restore");
    alice.run(&["store", "backup", "hers"]).ok();
    bob.run(&["store", "restore", "hers"]).fails(1, "cannot restore");
    assert!(!scratch.has("bob/store"));
    let ran = bob.run(&["store", "restore", "copy"]).ok();
    assert!(ran.err.contains("session group key-package"), "{}", ran.err);
    // It receives messages from after and from before the backup.
    alice.feed(&["session", "group", "send", "team", "-o", "second"], b"second").ok();
    bob.run(&["session", "group", "receive", "second", "first"]).ok();
    assert_eq!(texts(&bob), ["first", "second"]);
    sends_no_more(&bob);
    assert_eq!(bob.run(&["--json", "status"]).ok().json()["restored"], true);
}

#[test]
fn an_export_has_every_text() {
    let scratch = Scratch::new();
    let [alice, bob] = team(&scratch);
    alice.feed(&["session", "group", "send", "team", "--lines", "-o", "out"], b"one\ntwo").ok();
    bob.run(&["session", "group", "receive", "out"]).ok();
    bob.run(&["store", "export", "-o", "texts"]).ok();
    let lines = String::from_utf8(scratch.read("texts")).unwrap();
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1]["plaintext"], "74776f");
    assert_eq!(bob.run(&["store", "export"]).ok().text().lines().count(), 2);
}

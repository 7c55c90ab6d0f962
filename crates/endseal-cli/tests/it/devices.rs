//! Devices of a person: `recover`, `devices list`, `devices revoke`, `devices renew`.

use core::time::Duration;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use endseal_testing::Scratch;

use crate::messages::{Hub, members, texts};
use crate::people::{PROGRAM, Person, run};
use crate::up::Running;

/// The hub as `recover` takes it.
pub(crate) fn address(person: &Person<'_>) -> String {
    let status = person.run(&["--json", "status"]).ok().json();
    let text = |name: &str| status[name].as_str().unwrap().to_owned();
    format!("{}@{}", text("hub_peer_id"), text("hub"))
}

pub(crate) fn words(person: &Person<'_>) -> Vec<u8> {
    person.run(&["id", "paper", "--force"]).ok().out
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy(&path, &to),
            false => assert!(fs::copy(path, to).is_ok()),
        }
    }
}

/// Alice and Bob, who have written to each other.
pub(crate) fn friends<'a>(scratch: &'a Scratch, hub: &Hub<'_>) -> [Person<'a>; 2] {
    let [alice, bob] = members(scratch, hub);
    alice.run(&["say", "bob", "hello"]).ok();
    bob.run(&["say", "alice", "hi"]).ok();
    for person in [&alice, &bob, &alice, &bob] {
        person.run(&["sync"]).ok();
        person.run(&["inbox"]).ok();
    }
    [alice, bob]
}

#[test]
fn a_stolen_laptop_is_switched_off_by_the_words() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = friends(&scratch, &hub);
    let (hub_address, words) = (address(&bob), words(&bob));
    fs::rename(scratch.path("bob"), scratch.path("thief")).unwrap();
    let thief = Person { name: "thief", scratch: &scratch };

    // The other devices are not forgotten by accident.
    let recover = ["recover", "--no-passphrase", &hub_address];
    let ran = bob.feed(&recover, &words);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("--revoke-others"), "{}", ran.err);
    let recover = ["recover", "--no-passphrase", "--revoke-others", &hub_address];
    let ran = bob.feed(&recover, &words).ok();
    assert!(ran.err.contains("; 1 device revoked\n"), "{}", ran.err);
    // What comes back, and what does not.
    for part in ["contacts and history are not here", "a group comes back"] {
        assert!(ran.err.contains(part), "{}", ran.err);
    }
    // An identity is not replaced.
    bob.feed(&recover, &words).fails(2, "exists already");
    thief.run(&["sync"]).fails(1, "this device was revoked");

    alice.run(&["say", "bob", "the new door code"]).ok();
    let ran = alice.run(&["sync"]).ok();
    assert!(ran.err.contains("note: bob has a new device "), "{}", ran.err);
    assert!(ran.err.contains("note: bob has revoked device "), "{}", ran.err);
    bob.knows(&alice);
    bob.run(&["sync"]).ok();
    assert_eq!(texts(&bob.run(&["inbox"]).ok()), ["alice> the new door code"]);
    // A program that reads texts has not shown the notice to a person.
    assert_eq!(alice.run(&["--json", "inbox"]).ok().err, "");
    // The notice is printed where texts are read, once.
    assert!(alice.run(&["inbox"]).ok().err.contains("bob has a new device "));
    assert_eq!(alice.run(&["inbox"]).ok().err, "");
    let listed = alice.run(&["--json", "devices", "list", "bob"]).ok().json();
    let states: Vec<_> = listed["devices"].as_array().unwrap().iter().collect();
    let revoked: Vec<_> = states.iter().map(|it| it["is_revoked"].as_bool().unwrap()).collect();
    assert_eq!(revoked, [false, true], "{listed}");
}

#[test]
fn a_device_is_revoked_from_another_and_not_by_itself() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [_, bob] = friends(&scratch, &hub);
    let (hub_address, words) = (address(&bob), words(&bob));
    fs::rename(scratch.path("bob"), scratch.path("laptop")).unwrap();
    let laptop = Person { name: "laptop", scratch: &scratch };
    let recover = ["recover", "--no-passphrase", "--keep-others", &hub_address];
    bob.feed(&recover, &words).ok();
    laptop.run(&["sync"]).ok();
    let listed = bob.run(&["--json", "devices", "list"]).ok().json();
    let [this, other] = [true, false].map(|is_this| {
        let mut devices = listed["devices"].as_array().unwrap().iter();
        devices.find(|it| it["is_this"] == is_this).unwrap()["device"].to_string()
    });
    bob.run(&["devices", "revoke", &this]).fails(2, "the device that you are using");
    bob.run(&["devices", "revoke", &other]).ok();
    laptop.run(&["sync"]).fails(1, "this device was revoked");
    bob.run(&["sync"]).ok();
    let listed = bob.run(&["--json", "devices", "list"]).ok().json();
    let revoked = listed["devices"].as_array().unwrap().iter().find(|it| it["is_revoked"] == true);
    assert_eq!(revoked.map(|it| it["device"].to_string()), Some(other.clone()), "{listed}");
    bob.run(&["devices", "revoke", &other]).fails(2, "you have no device");
}

#[test]
fn devices_have_names_that_their_person_gives() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [_, bob] = friends(&scratch, &hub);
    let listed = |person: &Person<'_>| {
        let listed = person.run(&["--json", "devices", "list"]).ok().json();
        let devices = listed["devices"].as_array().unwrap().clone();
        let row = |it: &serde_json::Value| (it["name"].clone(), it["device"].to_string());
        devices.iter().map(row).collect::<Vec<_>>()
    };
    let (name, number) = listed(&bob).remove(0);
    let host = rustix::system::uname().nodename().to_str().unwrap().to_owned();
    assert_eq!(name, host.split('.').next().unwrap());
    for bad in ["", " x", "a\nb", &"x".repeat(65)] {
        bob.run(&["devices", "rename", &number, bad]).fails(2, "1 to 64 bytes");
    }
    bob.run(&["devices", "rename", "4000000000", "x"]).fails(2, "you have no device");
    let ran = bob.run(&["devices", "rename", &number, "old laptop"]).ok();
    assert_eq!(ran.confirmation(), format!("device {number} is called old laptop here"));
    let shown = bob.run(&["devices", "list"]).ok();
    assert!(shown.text().starts_with(&format!("{number}  old laptop  ")), "{}", shown.text());
    // New keys have the name of the old ones, and the number of the old ones keeps it.
    bob.run(&["devices", "renew"]).ok();
    bob.run(&["sync"]).ok();
    let rows = listed(&bob);
    assert!(rows.iter().all(|(name, _)| name == "old laptop"), "{rows:?}");
    let changes = bob.run(&["inbox"]).ok().err;
    assert!(
        changes.contains(&format!("you have revoked device {number} (old laptop)")),
        "{changes}"
    );
    // A backup has the names, and the device that is made of it gets its own.
    bob.run(&["backup", "file"]).ok();
    let words = words(&bob);
    let restored = Person { name: "restored", scratch: &scratch };
    let file = scratch.path("file");
    let restore = ["restore", "--no-passphrase", "--keep-others", "--name", "phone"];
    restored.feed(&[&restore[..], &[file.to_str().unwrap()]].concat(), &words).ok();
    restored.run(&["sync"]).ok();
    let mut names: Vec<_> = listed(&restored).iter().map(|(name, _)| name.to_string()).collect();
    names.sort_unstable();
    assert_eq!(names, ["\"old laptop\"", "\"old laptop\"", "\"phone\""]);
    // Contacts do not see names.
    let alice = Person { name: "alice", scratch: &scratch };
    alice.run(&["say", "bob", "again"]).ok();
    let ran = alice.run(&["sync"]).ok();
    assert!(ran.err.contains("bob has a new device") && !ran.err.contains("phone"), "{}", ran.err);
}

#[test]
fn a_renewed_device_keeps_its_protection() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, _] = members(&scratch, &hub);
    let secret = scratch.write("secret", "a passphrase\n");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let secret = secret.to_str().unwrap();
    alice.run(&["id", "passphrase", "--of-device", "--new-passphrase-file", secret]).ok();
    alice.run(&["--passphrase-file", secret, "devices", "renew"]).ok();
    alice.run(&["sync"]).fails(2, "a passphrase is needed");
    alice.run(&["--passphrase-file", secret, "sync"]).ok();
}

#[test]
fn words_of_another_person_recover_nothing() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, _] = members(&scratch, &hub);
    let carol = Person::new("carol", &scratch);
    let words = words(&carol);
    let dave = Person { name: "dave", scratch: &scratch };
    let hub_address = address(&alice);
    let recover = ["recover", "--no-passphrase", "--keep-others", &hub_address];
    dave.feed(&recover, &words).fails(1, "the hub does not know this identity");
    assert!(!scratch.path("dave/identity.endseal").exists());
    // A hub that is away.
    let address = hub.stop();
    let (peer, _) = hub_address.split_once('@').unwrap();
    let away = format!("{peer}@{address}");
    let recover = ["recover", "--no-passphrase", "--keep-others", "--timeout", "1s", &away];
    dave.feed(&recover, &words).fails(3, "did not answer in time");
}

#[test]
fn a_directory_from_a_backup_is_noticed_and_renewed() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = friends(&scratch, &hub);
    let (home, backup) = (scratch.path("alice"), scratch.path("backup"));
    copy(&home, &backup);
    alice.run(&["say", "bob", "since the backup"]).ok();
    alice.run(&["sync"]).ok();
    fs::remove_dir_all(&home).unwrap();
    copy(&backup, &home);
    alice.run(&["say", "bob", "after the restore"]).ok();
    let ran = alice.run(&["sync"]).fails(1, "earlier copy");
    assert!(ran.err.contains("endseal devices renew"), "{}", ran.err);
    alice.run(&["devices", "renew"]).ok();
    alice.run(&["sync"]).ok();
    bob.run(&["sync"]).ok();
    let expected = ["alice> since the backup", "alice> after the restore"];
    assert_eq!(texts(&bob.run(&["inbox"]).ok()), expected);
    let rows = alice.run(&["history", "bob"]).ok();
    assert_eq!(texts(&rows).last().unwrap(), &"me (not delivered)> after the restore");
    alice.run(&["sync"]).ok();
    let rows = alice.run(&["history", "bob"]).ok();
    assert_eq!(texts(&rows).last().unwrap(), &"me> after the restore");
}

#[test]
fn a_directory_from_a_backup_says_what_arrived_and_that_it_sends_nothing() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = friends(&scratch, &hub);
    let (home, backup) = (scratch.path("alice"), scratch.path("backup"));
    copy(&home, &backup);
    alice.run(&["say", "--now", "bob", "since the backup"]).ok();
    fs::remove_dir_all(&home).unwrap();
    copy(&backup, &home);

    let ran = alice.run(&["say", "--now", "bob", "after it"]).fails(5, "earlier copy");
    let waits = "hint: 1 text for bob waits here: do not repeat this command; close other copies \
                 of this directory, then: endseal devices renew\n";
    assert!(ran.err.ends_with(waits), "{}", ran.err);
    // Now the device knows it.
    let ran = alice.run(&["say", "bob", "once more"]).ok();
    let waits = "1 text for bob waits until you run endseal devices renew";
    assert_eq!(ran.confirmation(), waits);

    bob.run(&["say", "--now", "alice", "first"]).ok();
    let ran = alice.run(&["sync"]).fails(1, "earlier copy");
    let arrived = "hint: 1 message is in the inbox; close other copies of this directory, then: \
                   endseal devices renew\n";
    assert!(ran.err.ends_with(arrived), "{}", ran.err);
    bob.run(&["say", "--now", "alice", "second"]).ok();
    let ran = alice.run(&["inbox", "--now"]);
    assert_eq!((ran.code, texts(&ran)), (1, vec!["bob> first", "bob> second"]), "{}", ran.err);
    assert!(ran.err.contains("endseal devices renew"), "{}", ran.err);
    assert_eq!(alice.run(&["inbox"]).ok().text(), "");
}

#[test]
fn keys_are_not_renewed_while_up_runs() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, _] = friends(&scratch, &hub);
    let up = Running::up(&alice);
    let start = Instant::now();
    let ran = alice.run(&["devices", "renew"]).fails(3, "endseal up uses the store");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(ran.err.contains("hint: stop it first"), "{}", ran.err);
    assert_eq!(up.end("-TERM"), Some(0));
    alice.run(&["devices", "renew"]).ok();
}

#[test]
fn a_change_of_devices_is_printed_once() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = friends(&scratch, &hub);
    bob.run(&["devices", "renew"]).ok();
    bob.run(&["say", "--now", "alice", "with new keys"]).ok();
    alice.run(&["say", "bob", "sent while the change is found"]).ok();
    let ran = alice.run(&["inbox", "--now"]).ok();
    assert_eq!(ran.err.matches("bob has a new device ").count(), 1, "{}", ran.err);
    assert_eq!(ran.err.matches("bob has revoked device ").count(), 1, "{}", ran.err);
    assert_eq!(texts(&ran), ["bob> with new keys"]);
    let ran = alice.run(&["inbox"]).ok();
    assert_eq!(ran.err, "");
    // The device does not announce itself to its person.
    let ran = bob.run(&["inbox"]).ok();
    assert!(!ran.err.contains("you have a new device"), "{}", ran.err);
    assert!(ran.err.contains("you have revoked device"), "{}", ran.err);
}

#[test]
fn questions_without_a_terminal_name_the_option() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, _] = friends(&scratch, &hub);
    let phone = Person { name: "phone", scratch: &scratch };
    let address = address(&alice);
    let mut link = Running::of(phone.command(&["devices", "link", "--no-passphrase", &address]));
    let text = scratch.write("link", link.line());
    let asks = [
        (vec!["devices", "add", text.to_str().unwrap()], "--yes"),
        (vec!["history", "bob", "--delete"], "--force"),
    ];
    for (args, option) in asks {
        let mut command = Command::new("setsid");
        command.arg("--wait").arg(PROGRAM).arg("--home").arg(scratch.path("alice")).args(args);
        let ran = run(&mut command).fails(2, "there is no terminal to ask on");
        assert!(ran.err.contains(option), "{}", ran.err);
        assert!(!ran.err.contains("os error"), "{}", ran.err);
    }
}

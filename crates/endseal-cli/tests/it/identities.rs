//! Tests of init, id and contacts.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use endseal_crypto::identity::Identity;
use endseal_crypto::{ed25519, mlkem768};
use endseal_keyring::IdentityText;
use endseal_testing::Scratch;
use serde_json::json;

use crate::people::{PROGRAM, Person, program, run};

#[test]
fn init_prints_the_public_identity_and_nothing_else_to_standard_output() {
    let scratch = Scratch::new();
    let bob = Person { name: "bob", scratch: &scratch };
    let ran = run(bob.command(&["init"]).env("ENDSEAL_PASSPHRASE", "correct horse")).ok();
    assert!(ran.text().starts_with("endseal1") && ran.text().lines().count() == 1);
    assert_eq!(ran.text().trim_end(), bob.identity());
    assert!(bob.identity_pq().starts_with("endsealpq1"));
    let mode = |path: &str| fs::metadata(scratch.path(path)).unwrap().permissions().mode();
    assert_eq!(mode("bob") & 0o777, 0o700);
    assert_eq!(mode("bob/identity.endseal") & 0o777, 0o600);
    let shown = bob.run(&["--json", "id", "show"]).ok().json();
    assert_eq!(shown["identity"], bob.identity());
    assert_eq!(shown["identity_pq"], bob.identity_pq());
}

#[test]
fn an_init_that_fails_leaves_nothing() {
    let scratch = Scratch::new();
    let bob = Person { name: "bob", scratch: &scratch };
    bob.run(&["init", "--passphrase-file", "missing"]).fails(3, "missing");
    assert!(!scratch.path("bob").exists());
}

#[test]
fn an_identity_is_never_lost() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let first = scratch.read("bob/identity.endseal");
    bob.run(&["init", "--no-passphrase"]).fails(2, "exists already");
    assert_eq!(scratch.read("bob/identity.endseal"), first);
    let ran = bob.run(&["init", "--no-passphrase", "--force"]).ok();
    assert!(ran.err.contains("the old one is kept as"), "{}", ran.err);
    let second = scratch.read("bob/identity.endseal");
    assert_ne!(first, second);
    assert_eq!(scratch.read("bob/identity.endseal.old-1"), first);
    bob.run(&["init", "--no-passphrase", "--force"]).ok();
    assert_eq!(scratch.read("bob/identity.endseal.old-1"), first);
    assert_eq!(scratch.read("bob/identity.endseal.old-2"), second);
}

#[test]
fn the_variables_say_where_the_state_is() {
    let scratch = Scratch::new();
    let init = ["init", "--no-passphrase", "-q"];
    run(program().args(init).env("ENDSEAL_HOME", scratch.path("own"))).ok();
    run(program().args(init).env("XDG_DATA_HOME", scratch.path("xdg"))).ok();
    run(program().args(init).env("HOME", scratch.path("user"))).ok();
    for folder in ["own", "xdg/endseal", "user/.local/share/endseal"] {
        assert!(scratch.path(folder).join("identity.endseal").exists(), "{folder}");
    }
}

#[test]
fn an_exported_identity_can_be_imported() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    bob.run(&["id", "export"]).fails(2, "--secret");
    let ran = bob.run(&["id", "export", "--secret", "-o", "moved"]).ok();
    assert!(ran.err.starts_with("warning: this is the whole identity"), "{}", ran.err);
    let mode = fs::metadata(scratch.path("moved")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let elsewhere = Person { name: "elsewhere", scratch: &scratch };
    elsewhere.run(&["id", "import", "--no-passphrase", "moved"]).ok();
    assert_eq!(elsewhere.identity_pq(), bob.identity_pq());
    let piped = Person { name: "piped", scratch: &scratch };
    piped.feed(&["id", "import", "--no-passphrase"], &scratch.read("moved")).ok();
    assert_eq!(piped.identity(), bob.identity());
    let mut typo = scratch.read("moved");
    typo[30] = if typo[30] == b'Q' { b'P' } else { b'Q' };
    let other = Person { name: "other", scratch: &scratch };
    let ran = other.feed(&["id", "import", "--no-passphrase"], &typo).fails(2, "checksum");
    assert!(!ran.err.contains(core::str::from_utf8(&typo[20..40]).unwrap()));
    other.feed(&["id", "import"], &[b'x'; 5000]).fails(3, "longer than");
    assert!(!scratch.has("other"));
}

#[test]
fn an_exported_secret_is_a_field_of_an_object_if_asked_for() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let secret = bob.run(&["id", "export", "--secret"]).ok().text().trim_end().to_owned();
    let ran = bob.run(&["--json", "id", "export", "--secret"]).ok();
    assert_eq!(ran.json(), json!({ "output": null, "secret": secret }));
    assert_eq!(ran.err, "");
    let ran = bob.run(&["--json", "id", "export", "--secret", "-o", "moved"]).ok();
    assert_eq!(ran.json(), json!({ "output": "moved", "secret": null }));
    assert_eq!(scratch.read("moved"), format!("{secret}\n").as_bytes());
}

#[test]
fn the_device_works_while_the_identity_is_locked() {
    let scratch = Scratch::new();
    scratch.write("word", "correct horse\n");
    let alice = Person { name: "alice", scratch: &scratch };
    let made = ["--json", "--passphrase-file", "word", "init", "--device", "7"];
    let made = alice.run(&made).ok().json();
    assert_eq!(made["device"], 7);
    for path in ["alice/device.endseal", "alice/person/1.roster"] {
        let mode = fs::metadata(scratch.path(path)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{path}");
    }
    assert_eq!(made["peer_id"], alice.peer_id());
    alice.run(&["session", "group", "key-package", "-o", "package"]).ok();
    alice.run(&["store", "check"]).ok();
    alice.run(&["id", "export", "--secret"]).fails(2, "a passphrase is needed");
    alice.run(&["session", "group", "list"]).ok();
    fs::set_permissions(scratch.path("alice/device.endseal"), Permissions::from_mode(0o640))
        .unwrap();
    alice.run(&["session", "group", "list"]).fails(4, "chmod 600");
    alice.run(&["id", "show", "--peer"]).fails(4, "chmod 600");
    fs::remove_file(scratch.path("alice/device.endseal")).unwrap();
    alice.run(&["session", "group", "list"]).fails(4, "init --paper --force");
}

#[test]
fn a_protected_device_asks_for_a_passphrase() {
    let scratch = Scratch::new();
    scratch.write("word", "correct horse\n");
    scratch.write("wrong", "battery staple\n");
    let alice = Person { name: "alice", scratch: &scratch };
    // Reads through a pipe, which provides the line only once.
    let init =
        format!("cat word | '{PROGRAM}' --home alice init --protect-device --passphrase-fd 0");
    run(Command::new("sh").arg("-c").arg(init).current_dir(scratch.folder())).ok();
    alice.run(&["id", "show", "--peer"]).fails(2, "a passphrase is needed");
    alice
        .run(&["--passphrase-file", "wrong", "session", "group", "list"])
        .fails(1, "passphrase is wrong");
    alice.run(&["--passphrase-file", "word", "session", "group", "list"]).ok();
    alice.run(&["--passphrase-file", "word", "id", "paper", "--force"]).ok();
    let ran = alice.run(&["init", "--no-passphrase", "--protect-device", "--force"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
}

#[test]
fn words_on_paper_make_the_identity_again_with_a_new_device() {
    let scratch = Scratch::new();
    let alice = Person::new("alice", &scratch);
    alice.run(&["id", "paper"]).fails(2, "to a terminal only");
    let ran = alice.run(&["id", "paper", "--force"]).ok();
    assert!(ran.err.starts_with("warning: these words are the whole identity"), "{}", ran.err);
    let words = ran.text().to_owned();
    assert_eq!((words.lines().count(), words.split_whitespace().count()), (4, 24));
    let json = alice.run(&["--json", "id", "paper", "--force"]).ok().json();
    assert_eq!(json, json!({ "words": words.trim_end().replace('\n', " ") }));
    let forms = [words.clone(), words.to_uppercase(), words.replace(' ', "\r\n\t ")];
    for (name, form) in ["one", "two", "three"].into_iter().zip(&forms) {
        let other = Person { name, scratch: &scratch };
        other.feed(&["init", "--paper", "--no-passphrase"], form.as_bytes()).ok();
        assert_eq!(other.identity_pq(), alice.identity_pq());
        assert_ne!(other.peer_id(), alice.peer_id());
        assert_eq!(other.run(&["id", "paper", "--force"]).ok().text(), words);
    }
    let sealed = alice.feed(&["seal", "--to-self"], b"before").ok().out;
    let one = Person { name: "one", scratch: &scratch };
    assert_eq!(one.feed(&["open"], &sealed).ok().text(), "before");
    // The device is replaced, and nothing is lost. The person's record continues.
    let device = scratch.read("alice/device.endseal");
    alice.feed(&["init", "--paper", "--no-passphrase"], words.as_bytes()).fails(2, "exists");
    alice.feed(&["init", "--paper", "--no-passphrase", "--force"], words.as_bytes()).ok();
    assert_eq!(scratch.read("alice/device.endseal.old-1"), device);
    assert!(scratch.has("alice/store.old-1"));
    assert!(scratch.has("alice/person") && !scratch.has("alice/person.old-1"));
}

#[test]
fn wrong_words_are_refused_and_not_repeated() {
    let scratch = Scratch::new();
    let alice = Person { name: "alice", scratch: &scratch };
    let init = ["init", "--paper", "--no-passphrase"];
    let zeros = "abandon ".repeat(23);
    for (words, why) in [
        (String::new(), "24 words are expected, not 0"),
        (zeros.clone(), "24 words are expected, not 23"),
        (format!("{zeros}sesame"), "word 24 is not of the list"),
        (format!("{zeros}abandon"), "checksum is wrong"),
        ("\u{e9} ".repeat(24), "word 1 is not of the list"),
    ] {
        let ran = alice.feed(&init, words.as_bytes()).fails(2, why);
        assert!(!ran.err.contains("abandon") && !ran.err.contains("sesame"), "{}", ran.err);
    }
    alice.feed(&init, &[b'x'; 5000]).fails(3, "longer than");
    alice.feed(&init, &[0xff; 10]).fails(2, "not 0");
    assert!(!scratch.has("alice"));
    alice.feed(&init, format!("{zeros}art").as_bytes()).ok();
}

#[test]
fn an_imported_identity_has_no_words() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    bob.run(&["id", "export", "--secret", "-o", "moved"]).ok();
    let other = Person { name: "other", scratch: &scratch };
    other.run(&["id", "import", "--no-passphrase", "moved"]).ok();
    assert_eq!(other.identity_pq(), bob.identity_pq());
    assert_ne!(other.peer_id(), bob.peer_id());
    let ran = other.run(&["id", "paper", "--force"]).fails(1, "the identity has no words");
    assert!(ran.err.contains("imported without the seed"), "{}", ran.err);
}

#[test]
fn contacts_are_added_renamed_replaced_and_removed() {
    let scratch = Scratch::new();
    let [alice, bob, carol] = ["alice", "bob", "carol"].map(|name| Person::new(name, &scratch));
    let list = || alice.run(&["contacts", "list"]).ok().text().to_owned();
    assert_eq!(list(), "");
    alice.run(&["contacts", "add", "bob", &bob.identity()]).ok();
    alice.run(&["contacts", "add", "carol", &carol.identity_pq()]).ok();
    assert_eq!(list(), format!("bob    {}\ncarol  {}\n", bob.identity(), carol.identity()));
    let ran = alice.run(&["contacts", "add", "bob", &carol.identity()]);
    ran.fails(2, "the name is there already");
    let ran = alice.run(&["contacts", "add", "robert", &bob.identity()]);
    ran.fails(2, "it is there already, as bob");
    alice.run(&["contacts", "add", "--force", "bob", &bob.identity_pq()]).ok();
    let json = alice.run(&["--json", "contacts", "list"]).ok().json();
    assert_eq!(json["contacts"][0]["name"], "bob");
    assert_eq!(json["contacts"][0]["identity_pq"], bob.identity_pq());
    alice.run(&["contacts", "rename", "bob", "robert"]).ok();
    alice.run(&["contacts", "remove", "carol"]).ok();
    assert_eq!(list(), format!("robert  {}\n", bob.identity()));
    alice.run(&["contacts", "remove", "carol"]).fails(2, "no entry of that name");
    alice.run(&["contacts", "rename", "eve", "adam"]).fails(2, "no entry of that name");
    let ran = alice.run(&["contacts", "add", "Bob", &bob.identity()]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("lower case"), "{}", ran.err);
    alice.run(&["group", "create", "team", "robert"]).ok();
    alice.run(&["contacts", "add", "team", &carol.identity()]).fails(2, "team is a group");
    alice.run(&["contacts", "rename", "robert", "team"]).fails(2, "team is a group");
    assert_eq!(list(), format!("robert  {}\n", bob.identity()));
    let ran = alice.run(&["contacts", "add", "me", &alice.identity()]).ok();
    assert!(ran.err.contains("note: me is your own identity"), "{}", ran.err);
    // Notes to oneself would go to another person of this name.
    let notes = "'me' is the name of your notes to yourself";
    alice.run(&["contacts", "remove", "me"]).ok();
    alice.run(&["contacts", "add", "me", &carol.identity()]).fails(2, notes);
    alice.run(&["contacts", "rename", "robert", "me"]).fails(2, notes);
    assert_eq!(list(), format!("robert  {}\n", bob.identity()));
}

/// Returns the identity of two seeds of repeated bytes.
fn of_seeds(ed25519: u8, kem: u8) -> IdentityText {
    let ed25519 = ed25519::Seed::from_bytes(&[ed25519; 32]);
    let identity = Identity::from_seeds(ed25519, mlkem768::Seed::from_bytes(&[kem; 64]));
    IdentityText::from(identity.public().clone())
}

#[test]
fn a_long_identity_completes_the_short_one_of_a_contact_and_is_kept() {
    let scratch = Scratch::new();
    let alice = Person::new("alice", &scratch);
    let add =
        |identity: &IdentityText| alice.run(&["contacts", "add", "bob", &identity.to_string()]);
    let listed = || alice.run(&["contacts", "list", "--pq"]).ok().text().to_owned();
    let (first, second) = (of_seeds(1, 1), of_seeds(1, 2));
    let added = "bob is a contact, without a post-quantum key\n";
    assert_eq!(add(&first.short()).ok().err, added);
    assert_eq!(add(&first.short()).ok().err, "note: bob is known already\n");
    assert_eq!(add(&first).ok().err, "note: bob has an ML-KEM-768 key now\n");
    assert_eq!(listed(), format!("bob  {first}\n"));
    let kept = "note: bob keeps the ML-KEM-768 key, which the short identity does not name\n";
    assert_eq!(add(&first.short()).ok().err, kept);
    for other in [&second, &of_seeds(2, 1)] {
        add(other).fails(2, "the name is there already");
    }
    assert_eq!(listed(), format!("bob  {first}\n"));
}

#[test]
fn another_key_of_a_contact_is_told() {
    let scratch = Scratch::new();
    let alice = Person::new("alice", &scratch);
    let add = |identity: &IdentityText| {
        let ran = alice.run(&["contacts", "add", "--force", "bob", &identity.to_string()]);
        ran.ok().err.clone()
    };
    let (first, second) = (of_seeds(1, 1), of_seeds(1, 2));
    assert_eq!(add(&first.short()), "bob is a contact, without a post-quantum key\n");
    for identity in [&first, &first] {
        assert_eq!(add(identity), "bob is a contact\n");
    }
    assert!(add(&second).starts_with("warning: bob has another ML-KEM-768 key now"));
    assert!(add(&second.short()).starts_with("warning: bob has no ML-KEM-768 key any more"));
    assert!(add(&of_seeds(2, 2)).starts_with("warning: bob is another identity now"));
}

#[test]
fn a_secret_file_that_others_can_read_is_told() {
    let scratch = Scratch::new();
    let alice = Person { name: "alice", scratch: &scratch };
    let mode = |name: &str, mode| {
        fs::set_permissions(scratch.path(name), Permissions::from_mode(mode)).unwrap();
    };
    let warning = |name: &str, mode: &str| {
        format!("warning: others can read the secret in '{name}' (mode {mode}): chmod 600 '{name}'")
    };
    scratch.write("word", "correct horse\n");
    mode("word", 0o644);
    let ran = alice.run(&["--passphrase-file", "word", "init"]).ok();
    assert!(ran.err.contains(&warning("word", "0644")), "{}", ran.err);
    mode("word", 0o600);
    let export = ["--passphrase-file", "word", "id", "export", "--secret", "-o", "exported"];
    let ran = alice.run(&export).ok();
    assert!(!ran.err.contains("others can read"), "{}", ran.err);
    mode("exported", 0o640);
    let bob = Person { name: "bob", scratch: &scratch };
    let ran = bob.run(&["id", "import", "--no-passphrase", "exported"]).ok();
    assert!(ran.err.contains(&warning("exported", "0640")), "{}", ran.err);
    // In the state directory nothing is left to chance.
    mode("bob/identity.endseal", 0o644);
    bob.run(&["id", "show"]).fails(4, "chmod 600");
}

#[test]
fn an_identity_of_two_people_is_refused() {
    let scratch = Scratch::new();
    let alice = Person::new("alice", &scratch);
    let vector = include_str!("../../../../vectors/identity/public-kem-of-another.json");
    let (_, text) = vector.split_once("\"input\": \"").unwrap();
    let (text, _) = text.split_once('"').unwrap();
    alice.run(&["contacts", "add", "bob", text]).fails(2, "did not sign its ML-KEM-768 key");
    alice.feed(&["seal", "-r", text], b"for bob").fails(2, "did not sign");
}

#[test]
fn contacts_that_are_added_at_the_same_time_are_all_there() {
    let scratch = Scratch::new();
    let alice = Person::new("alice", &scratch);
    let others: Vec<_> =
        ["p0", "p1", "p2", "p3", "p4", "p5"].map(|name| Person::new(name, &scratch)).into();
    let running: Vec<_> = others
        .iter()
        .map(|o| alice.command(&["contacts", "add", o.name, &o.identity()]).spawn().unwrap())
        .collect();
    for mut child in running {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(alice.run(&["contacts", "list"]).ok().text().lines().count(), others.len());
}

#[test]
fn a_passphrase_is_changed_in_place() {
    let scratch = Scratch::new();
    let alice = Person { name: "alice", scratch: &scratch };
    for (file, word) in [("old", "correct horse\n"), ("new", "battery staple\n")] {
        scratch.write(file, word.as_bytes());
    }
    alice.run(&["--passphrase-file", "old", "init"]).ok();
    let identity = alice.run(&["id", "show"]).ok().out;
    let change = ["--passphrase-file", "old", "id", "passphrase", "--new-passphrase-file", "new"];
    alice.run(&change).ok();
    let words = |file| alice.run(&["--passphrase-file", file, "id", "paper", "--force"]);
    words("old").fails(1, "passphrase is wrong");
    words("new").ok();
    assert_eq!(alice.run(&["id", "show"]).ok().out, identity);
    // The wrong one changes nothing, and no copy under the old one stays.
    alice.run(&change).fails(1, "passphrase is wrong");
    assert!(!scratch.path("alice/identity.endseal.old-1").exists());

    // The device, which had none; its store opens as before.
    let of_device = ["id", "passphrase", "--of-device", "--new-passphrase-file", "new"];
    alice.run(&of_device).ok();
    alice.run(&["session", "group", "list"]).fails(2, "a passphrase is needed");
    alice.run(&["--passphrase-file", "new", "session", "group", "list"]).ok();
    let off = ["--passphrase-file", "new", "id", "passphrase", "--of-device", "--no-passphrase"];
    alice.run(&off).ok();
    alice.run(&["session", "group", "list"]).ok();
    alice.run(&["id", "passphrase", "--of-device"]).fails(2, "no terminal");
}

//! Lines on standard error: confirmations, details, colours.

use endseal_testing::Scratch;

use crate::people::{Person, run};

/// Commands of Alice that change something. Bob's identity, peer id and files are made before.
const CHANGES: [&[&str]; 20] = [
    &["contacts", "add", "bob", "IDENTITY"],
    &["contacts", "rename", "bob", "robert"],
    &["group", "create", "club", "robert"],
    &["group", "rotate", "club"],
    &["group", "remove", "club", "robert"],
    &["group", "add", "club", "robert"],
    &["group", "export", "club", "-o", "roster"],
    &["peers", "add", "bob", "PEERID"],
    &["peers", "remove", "bob"],
    &["seal", "-r", "robert", "--to-self", "-o", "sealed", "notes"],
    &["open", "-o", "opened", "sealed"],
    &["id", "export", "--secret", "-o", "secret"],
    &["say", "robert", "at noon"],
    &["session", "prune"],
    &["session", "group", "create", "team"],
    &["session", "group", "add", "team", "robert", "bob.package", "-o", "welcome"],
    &["session", "group", "send", "team", "notes", "-o", "messages"],
    &["session", "group", "forget", "team", "--yes"],
    &["store", "backup", "copy"],
    &["contacts", "remove", "robert"],
];

/// Makes all changes. Each prints one line on standard error, unless `quiet` is set.
#[track_caller]
fn change(quiet: bool) {
    let scratch = Scratch::new();
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    bob.run(&["session", "group", "key-package", "-o", "bob.package"]).ok();
    scratch.write("notes", "at noon");
    let (identity, peer_id) = (bob.identity_pq(), bob.peer_id());
    for change in CHANGES {
        let mut args = if quiet { vec!["-q"] } else { vec![] };
        args.extend(change.iter().map(|arg| match *arg {
            "IDENTITY" => &identity,
            "PEERID" => &peer_id,
            arg => arg,
        }));
        let ran = alice.run(&args).ok();
        assert_eq!(ran.text(), "", "{args:?}");
        assert_eq!(ran.err.is_empty(), quiet, "{args:?}: {}", ran.err);
    }
}

#[test]
fn each_change_is_confirmed() {
    change(false);
}

#[test]
fn quiet_changes_say_nothing() {
    change(true);
}

#[test]
fn details_are_shown_and_no_secrets() {
    let scratch = Scratch::new();
    let alice = Person { name: "alice", scratch: &scratch };
    let secret = "correct horse battery";
    let ran = |args: &[&str]| {
        let ran = run(alice.command(args).env("ENDSEAL_PASSPHRASE", secret)).ok();
        let key = String::from_utf8_lossy(&ran.out).trim().to_owned();
        assert!(!ran.err.contains(secret), "{}", ran.err);
        assert!(!key.starts_with("ENDSEAL-SECRET") || !ran.err.contains(&key), "{}", ran.err);
        ran
    };
    ran(&["-v", "init"]);
    let own = ran(&["-v", "id", "show"]).text().trim().to_owned();
    scratch.write("notes", "at noon");
    let told = ran(&["-v", "seal", "-r", &own, "-o", "sealed", "notes"]).err;
    for detail in ["reading 'notes'", "writing 'sealed'", "state directory '", &own] {
        assert!(told.contains(detail), "{detail} is not in {told}");
    }
    let brief = ran(&["seal", "-r", &own, "-fo", "sealed", "notes"]).err;
    assert!(!brief.contains("reading"), "{brief}");
    ran(&["-v", "open", "sealed"]);
    ran(&["-v", "id", "export", "--secret"]);
    assert_eq!(alice.run(&["-v", "-q", "id", "show"]).code, 2);
}

#[test]
fn details_name_the_files_that_are_read() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.path("config/endseal")).unwrap();
    scratch.write("config/endseal/config.toml", "passphrase_file = \"word\"\n");
    scratch.write("config/endseal/word", "correct horse\n");
    scratch.write("other", "correct horse\n");
    let alice = Person { name: "alice", scratch: &scratch };
    let told = |args: &[&str]| {
        run(alice.command(args).env("XDG_CONFIG_HOME", scratch.path("config"))).ok().err
    };
    told(&["init", "--protect-device"]);
    let path = |name: &str| format!("'{}'", scratch.path(name).display());
    let configuration = format!("configuration file {}\n", path("config/endseal/config.toml"));
    let identity = format!("identity file {}\n", path("alice/identity.endseal"));
    let device = format!("device file {}\n", path("alice/device.endseal"));
    let passphrase = format!("passphrase from {}\n", path("config/endseal/word"));
    let peer = ["id", "show", "--peer"];
    let all = told(&[&["-v"], &peer[..]].concat());
    for detail in [&configuration, &device, &passphrase] {
        assert!(all.contains(detail), "{detail} is not in {all}");
    }
    let given = told(&[&["-v", "--passphrase-file", "other"], &peer[..]].concat());
    assert!(given.contains("passphrase from 'other'\n"), "{given}");
    let public = told(&["-v", "id", "show"]);
    assert!(public.contains(&identity) && !public.contains("passphrase from"), "{public}");
    let own = alice.run(&["id", "show"]).ok();
    scratch.write("list", own.text());
    let told = told(&["-v", "seal", "--anonymous", "-R", "list", "-o", "sealed", "other"]);
    assert!(told.contains("reading 'list'\n"), "{told}");
    assert_eq!(alice.run(&["id", "show"]).ok().err, "");
}

#[test]
fn messages_have_colours_when_they_are_asked_for() {
    let scratch = Scratch::new();
    let alice = Person { name: "alice", scratch: &scratch };
    let error = "\u{1b}[1;31merror:\u{1b}[0m ";
    for args in [&["contacts", "list"][..], &["contacts", "lisp"]] {
        let told = |color: &[&str]| {
            let ran = run(alice.command(&[color, args].concat()).env("NO_COLOR", "1"));
            assert_ne!(ran.code, 0);
            ran.err
        };
        assert!(told(&["--color", "always"]).starts_with(error));
        assert!(told(&["--color=never"]).starts_with("error: "));
        assert!(told(&[]).starts_with("error: "));
    }
}

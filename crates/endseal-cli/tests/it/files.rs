//! Sealing and opening files.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use endseal_testing::Scratch;

use crate::people::Person;

/// More than one block, so that there are two signatures.
fn content() -> Vec<u8> {
    (0..(4_u32 << 20) + 12_345).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[test]
fn every_recipient_opens_what_was_sealed_and_no_one_else_does() {
    let scratch = Scratch::new();
    let [alice, bob, carol, dave] =
        ["alice", "bob", "carol", "dave"].map(|name| Person::new(name, &scratch));
    scratch.write("plain", content());
    alice.knows(&bob);
    let sealed =
        alice.run(&["seal", "-r", "bob", "-r", &carol.identity(), "-o", "sealed", "plain"]).ok();
    assert!(sealed.out.is_empty());
    let carols = carol.identity();
    let note = format!("note: suite x25519 is used: no post-quantum key is known of {carols}\n");
    let done = "sealed to 2 recipients in 'sealed'\n";
    assert_eq!(sealed.err, format!("{note}{done}"));
    bob.knows(&alice);
    let opened = bob.run(&["open", "-o", "bobs", "sealed"]).ok();
    assert!(opened.err.starts_with("sealed by alice, dated 20"), "{}", opened.err);
    let opened = carol.run(&["open", "-o", "carols", "sealed"]).ok();
    let who = format!("sealed by unknown sender {}, ", alice.identity());
    assert!(opened.err.starts_with(&who), "{}", opened.err);
    for name in ["bobs", "carols"] {
        assert_eq!(scratch.read(name), content());
    }
    // The sender did not seal to herself.
    for other in [&alice, &dave] {
        other.run(&["open", "-o", "none", "sealed"]).fails(1, "not sealed to this identity");
        assert!(!scratch.has("none"));
    }
}

#[test]
fn options_of_seal_change_what_inspect_shows() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    scratch.write("plain", b"12345");
    let long = bob.identity_pq();
    for (options, suite, slots, slot_len) in [
        (&[][..], "x25519-mlkem768", 1, 1124),
        (&["--suite", "x25519"], "x25519", 1, 36),
        (&["--suite", "x25519-compact"], "x25519-compact", 1, 20),
        (&["--suite", "x25519-mlkem768"], "x25519-mlkem768", 1, 1124),
        (&["--hide-count"], "x25519-mlkem768", 8, 1124),
        (&["--anonymous"], "x25519-mlkem768", 1, 1124),
    ] {
        let mut args = vec!["seal", "-r", &long, "-o", "sealed", "--force", "plain"];
        args.extend(options);
        bob.run(&args).ok();
        let seen = bob.run(&["inspect", "--json", "sealed"]).ok().json();
        assert_eq!(seen["suite"], suite);
        assert_eq!(seen["slots"], slots);
        assert_eq!(seen["slot_length"], slot_len);
        assert_eq!(seen["content_length"], 5);
        assert_eq!(seen["length"], scratch.read("sealed").len());
        let opened = bob.run(&["open", "sealed"]).ok();
        assert_eq!(opened.text(), "12345");
        assert!(opened.err.trim_end().ends_with(&format!(", suite {suite}")), "{}", opened.err);
        let opened = bob.run(&["open", "--json", "--force", "-o", "opened", "sealed"]).ok().json();
        assert_eq!(opened["suite"], suite);
    }
}

#[test]
fn an_anonymous_file_needs_no_state_directory_to_be_sealed() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let no_one = Person { name: "nobody", scratch: &scratch };
    let sealed = no_one.feed(&["seal", "--anonymous", "-r", &bob.identity()], b"guess who").ok();
    assert!(!scratch.has("nobody"));
    let opened = bob.feed(&["open"], &sealed.out).ok();
    assert_eq!(opened.text(), "guess who");
    assert!(opened.err.contains("unknown sender endseal1"));
}

#[test]
fn to_self_lets_the_sender_open_it() {
    let scratch = Scratch::new();
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    let sealed = alice.feed(&["seal", "--to-self", "-r", &bob.identity()], b"both").ok();
    for person in [&alice, &bob] {
        assert_eq!(person.feed(&["open"], &sealed.out).ok().text(), "both");
    }
    let sealed = alice.feed(&["seal", "--to-self"], b"only me").ok();
    let opened = alice.feed(&["open"], &sealed.out).ok();
    assert!(opened.err.starts_with("sealed by yourself"), "{}", opened.err);
}

#[test]
fn from_refuses_other_senders() {
    let scratch = Scratch::new();
    let [alice, bob, carol] = ["alice", "bob", "carol"].map(|name| Person::new(name, &scratch));
    bob.knows(&alice);
    let sealed = carol.feed(&["seal", "-r", &bob.identity()], b"from carol").ok().out;
    scratch.write("sealed", &sealed);
    bob.run(&["open", "--from", "alice", "-o", "out", "sealed"])
        .fails(1, "the sender is not one of those accepted");
    assert!(!scratch.has("out"));
    let carols = carol.identity();
    bob.run(&["open", "--from", "alice", "--from", &carols, "-o", "out", "sealed"]).ok();
    assert_eq!(scratch.read("out"), b"from carol");
    bob.run(&["open", "--from", "eve", "sealed"]).fails(2, "neither a contact nor an identity");
}

#[test]
fn recipients_come_from_files_too() {
    let scratch = Scratch::new();
    let [alice, bob, carol] = ["alice", "bob", "carol"].map(|name| Person::new(name, &scratch));
    alice.knows(&bob);
    let list = format!("# friends\n\nbob\r\n  {}\n", carol.identity());
    scratch.write("friends.txt", list);
    let sealed = alice.feed(&["seal", "-R", "friends.txt"], b"to friends").ok();
    for person in [&bob, &carol] {
        assert_eq!(person.feed(&["open"], &sealed.out).ok().text(), "to friends");
    }
    // A mistyped contact is not taken for a file of that name.
    scratch.write("bub", carol.identity());
    for file in ["bub", "./bub", "friends.txt"] {
        alice.feed(&["seal", "-r", file], b"x").fails(2, "-R FILE reads recipients from a file");
    }
}

#[test]
fn a_person_who_is_named_twice_gets_one_slot() {
    let scratch = Scratch::new();
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    alice.knows(&bob);
    scratch.write("plain", b"x");
    let (short, long) = (bob.identity(), bob.identity_pq());
    let args = ["seal", "-r", "bob", "-r", &short, "-r", &long, "-o", "sealed", "plain"];
    let ran = alice.run(&args).ok();
    assert_eq!(ran.err, "note: 2 named more than once\nsealed to 1 recipient in 'sealed'\n");
    assert_eq!(alice.run(&["inspect", "--json", "sealed"]).ok().json()["slots"], 1);
}

#[test]
fn an_existing_output_stays_unless_forced() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    scratch.write("plain", b"new");
    scratch.write("sealed", b"old");
    fs::set_permissions(scratch.path("sealed"), fs::Permissions::from_mode(0o600)).unwrap();
    let own = bob.identity();
    let args = ["seal", "-r", &own, "-o", "sealed", "plain"];
    let ran = bob.run(&args).fails(2, "'sealed' exists already");
    assert!(ran.err.contains("hint: choose another name, or replace it with --force"));
    assert_eq!(scratch.read("sealed"), b"old");

    bob.run(&[&args[..], &["--force"]].concat()).ok();
    let mode = fs::metadata(scratch.path("sealed")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "the permissions stay");
    bob.run(&["open", "-o", "plain", "sealed"]).fails(2, "'plain' exists already");
    assert_eq!(bob.run(&["open", "sealed"]).ok().text(), "new");
}

#[test]
fn a_forced_output_through_a_link_replaces_what_it_points_to() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    fs::create_dir(scratch.path("far")).unwrap();
    scratch.write("far/target", b"old");
    symlink("far/target", scratch.path("link")).unwrap();
    let own = bob.identity();
    bob.feed(&["seal", "-r", &own, "-o", "link"], b"x").fails(2, "exists already");
    bob.feed(&["seal", "-r", &own, "-o", "link", "-f"], b"x").ok();
    assert!(scratch.path("link").symlink_metadata().unwrap().is_symlink());
    assert_eq!(bob.run(&["open", "far/target"]).ok().text(), "x");
    // A dangling link counts as an existing output too.
    symlink("nowhere", scratch.path("dangling")).unwrap();
    bob.feed(&["seal", "-r", &own, "-o", "dangling"], b"x").fails(2, "exists already");
    assert!(!scratch.has("nowhere"));
}

#[test]
fn an_output_is_called_as_it_was_given() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    scratch.write("plain", "x");
    bob.run(&["group", "create", "team"]).ok();
    let absolute = scratch.path("absolute").display().to_string();
    scratch.write("target", "old");
    symlink("target", scratch.path("link")).unwrap();
    // The second attempt finds an existing file.
    for output in ["new", "new", "./bob/../dotted", "./bob/../dotted", &absolute, "link"] {
        for command in [&["seal", "--to-self", "plain"][..], &["open", "sealed"]] {
            if command[0] == "open" {
                scratch.write("sealed", scratch.read(output));
            }
            let args = [&["--json"], command, &["-fo", output]].concat();
            let ran = bob.run(&args).ok();
            assert_eq!(ran.json()["output"], output, "{command:?}");
        }
        let ran = bob.run(&["seal", "--to-self", "plain", "-fo", output]).ok();
        assert_eq!(ran.err, format!("sealed to 1 recipient in '{output}'\n"));
    }
}

#[test]
fn an_output_that_is_no_file_is_refused() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let own = bob.identity();
    for output in ["bob", "/dev/null"] {
        let args = ["seal", "-r", &own, "-o", output, "--force"];
        bob.feed(&args, b"x").fails(3, "is not a regular file");
    }
    let ran = bob.feed(&["seal", "-r", &own, "-o", "no/such/folder"], b"x");
    ran.fails(3, "No such file or directory");
}

#[test]
fn outputs_are_for_whom_the_umask_allows() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let own = bob.identity();
    bob.feed(&["seal", "-r", &own, "-o", "sealed"], b"x").ok();
    let plain = scratch.write("plain", b"x");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&scratch.path("sealed")), mode(&plain));
}

#[test]
fn json_tells_all_that_people_are_told() {
    let scratch = Scratch::new();
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    bob.knows(&alice);
    scratch.write("plain", b"1234567");
    let to = bob.identity();
    let sealed = alice.run(&["--json", "seal", "-r", &to, "-o", "sealed", "plain"]).ok().json();
    assert_eq!(sealed["content_length"], 7);
    assert_eq!(sealed["output"], "sealed");
    assert_eq!(sealed["output_length"], scratch.read("sealed").len());
    assert_eq!(sealed["recipients"], 1);
    assert_eq!(sealed["suite"], "x25519");
    let opened = bob.run(&["--json", "open", "-o", "out", "sealed"]).ok();
    assert_eq!(opened.err, "");
    let opened = opened.json();
    assert_eq!(opened["content_length"], 7);
    assert_eq!(opened["sender"], alice.identity());
    assert_eq!(opened["sender_name"], "alice");
    assert_eq!(opened["sender_is_self"], false);
    assert_eq!(opened["message_id"].as_str().unwrap().len(), 32);
    assert!(opened["time"].as_str().unwrap().ends_with('Z'));
    // If standard output carries data, the JSON object is on standard error.
    let opened = bob.run(&["--json", "open", "sealed"]).ok();
    assert_eq!(opened.text(), "1234567");
    let object: serde_json::Value = serde_json::from_str(&opened.err).unwrap();
    assert_eq!(object["output"], serde_json::Value::Null);
    assert_eq!(object["sender_name"], "alice");
}

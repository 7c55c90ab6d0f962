//! Invalid inputs and arguments: each is refused with one clear error and the right exit code, and
//! the output is absent or unchanged.

use std::process::Command;
use std::{fs, os::unix::fs::PermissionsExt as _};

use endseal_testing::Scratch;

use crate::people::{PROGRAM, Person, feed, program, run};

/// Length of the header and the slots of an envelope for one recipient.
const CLEAR_LEN: usize = 100 + 36;

/// Makes an envelope for Bob, with one full block and some chunks.
fn sealed(scratch: &Scratch, bob: &Person<'_>) -> Vec<u8> {
    let content = vec![b'x'; (4 << 20) + 100_000];
    let sealed = bob.feed(&["seal", "-r", &bob.identity(), "--suite", "x25519"], &content).ok().out;
    scratch.write("sealed", &sealed);
    sealed
}

#[track_caller]
fn refuses(bob: &Person<'_>, envelope: &[u8], why: &str) {
    bob.scratch.write("bad", envelope);
    bob.scratch.write("kept", b"as it was");
    bob.run(&["open", "-o", "absent", "bad"]).fails(1, why);
    bob.run(&["open", "-o", "kept", "--force", "bad"]).fails(1, why);
    assert!(!bob.scratch.has("absent"));
    assert_eq!(bob.scratch.read("kept"), b"as it was");
    let left: Vec<_> =
        bob.scratch.names().into_iter().filter(|name| name.ends_with(".tmp")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_changed_byte_anywhere_is_refused() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let good = sealed(&scratch, &bob);
    let changed = |at: usize| {
        let mut bad = good.clone();
        bad[at] ^= 1;
        bad
    };
    let authentication = "not sealed to this identity, or changed since it was sealed";
    // epk, salt, commitment, tag, body; first block, second block, last byte.
    for at in [8, 40, 64, 100, 104, CLEAR_LEN, good.len() / 2, good.len() - 100, good.len() - 1] {
        refuses(&bob, &changed(at), authentication);
    }
    refuses(&bob, &changed(0), "not an envelope");
    refuses(&bob, &changed(6), "reserved bytes are set");
    refuses(&bob, &changed(96), "no slots");
}

#[test]
fn another_version_or_suite_is_refused_by_name() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let mut bad = sealed(&scratch, &bob);
    bad[4] = 2;
    refuses(&bob, &bad, "envelope version 2 is not known");
    (bad[4], bad[5]) = (1, 9);
    refuses(&bob, &bad, "suite 9 is not known");
    let ran = bob.run(&["inspect", "bad"]).fails(1, "suite 9 is not known");
    assert!(ran.err.contains("hint: a newer endseal may know it"));
}

#[test]
fn truncation_and_trailing_bytes_are_refused() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let good = sealed(&scratch, &bob);
    refuses(&bob, &[], "not an envelope");
    refuses(&bob, &good[..3], "cut short");
    for len in [99, 100, CLEAR_LEN - 1] {
        refuses(&bob, &good[..len], "cut short");
    }
    for len in [CLEAR_LEN, CLEAR_LEN + 100, good.len() / 2, good.len() - 1] {
        refuses(&bob, &good[..len], "changed since it was sealed");
    }
    refuses(&bob, &[&good[..], b"\n"].concat(), "changed since it was sealed");
    refuses(&bob, &good.repeat(2), "changed since it was sealed");
}

#[test]
fn too_many_slots_are_refused_at_once() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let mut bad = sealed(&scratch, &bob);
    bad[96..100].copy_from_slice(&u32::MAX.to_le_bytes());
    refuses(&bob, &bad, "more than the limit");
    bob.run(&["inspect", "bad"]).fails(1, "more than the limit");
    // The maximum number of slots, and nothing after the header.
    bad[96..100].copy_from_slice(&(1_u32 << 20).to_le_bytes());
    refuses(&bob, &bad[..100], "cut short");
}

#[test]
fn a_plain_file_is_not_an_envelope() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    refuses(&bob, &b"just some text\n".repeat(20), "not an envelope");
    scratch.write("text", "just some text\n");
    for command in ["open", "inspect"] {
        let ran = bob.run(&[command, "text"]).fails(1, "not an envelope\n  because: it is text\n");
        assert!(ran.err.contains("hint: give a file that endseal seal has written"), "{}", ran.err);
    }
}

#[test]
fn the_tip_for_an_option_that_does_not_exist_helps() {
    let ran = run(program().args(["seal", "--to", "bob", "notes"]));
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("'-r'") && !ran.err.contains("--to-self"), "{}", ran.err);
}

#[test]
fn a_file_that_is_no_session_file_says_nothing_of_messages() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    scratch.write("text", "just some text\n");
    let ran = bob.run(&["session", "group", "receive", "text"]);
    assert!(ran.code != 0 && !ran.err.contains("before it"), "{}", ran.err);
}

#[test]
fn what_reaches_standard_output_before_an_error_is_authentic() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let mut bad = sealed(&scratch, &bob);
    let last = bad.len() - 1;
    bad[last] ^= 1;
    let ran = bob.feed(&["open"], &bad);
    assert_eq!(ran.code, 1);
    let verified = vec![b'x'; 4 << 20];
    assert!(ran.out == verified, "{} bytes: the first block was verified, no more", ran.out.len());
}

#[test]
fn a_wrong_passphrase_is_refused() {
    let scratch = Scratch::new();
    let bob = Person { name: "bob", scratch: &scratch };
    bob.run(&["init", "--passphrase-file", "none"]).fails(3, "cannot read 'none'");
    assert!(!scratch.has("bob/identity.endseal"));
    scratch.write("right", b"correct horse\n");
    scratch.write("wrong", b"battery staple\n");
    let bob = Person::with_passphrase("bob", &scratch, "correct horse");
    let sealed = bob.feed(&["seal", "--anonymous", "-r", &bob.identity()], b"x").ok().out;
    scratch.write("sealed", sealed);
    let args = ["open", "-o", "out", "sealed", "--passphrase-file"];
    bob.run(&[&args[..], &["wrong"]].concat()).fails(1, "the passphrase is wrong");
    assert!(!scratch.has("out"));
    bob.run(&[&args[..], &["right"]].concat()).ok();
    // The passphrase comes from the variable or from a file descriptor.
    let open = run(bob.command(&["open", "sealed"]).env("ENDSEAL_PASSPHRASE", "correct horse"));
    assert_eq!(open.ok().text(), "x");
    let line = format!("'{PROGRAM}' --home bob open sealed --passphrase-fd 3 3< right");
    let open = run(Command::new("sh").arg("-c").arg(line).current_dir(scratch.folder()));
    assert_eq!(open.ok().text(), "x");
}

/// If the passphrase were read ahead, content would be lost. If the input were read again, the
/// passphrase would become content.
#[test]
fn a_passphrase_from_standard_input_is_the_first_line_and_content_the_rest() {
    let scratch = Scratch::new();
    let bob = Person::with_passphrase("bob", &scratch, "correct horse");
    scratch.write("right", b"correct horse\n");
    let content = [&b"THE CONTENT\n"[..], &[b'x'; 100_000]].concat();
    let both = [&b"correct horse\n"[..], &content].concat();
    scratch.write("both", &both);
    let open = |sealed: &str| bob.run(&["open", sealed, "--passphrase-file", "right"]).ok().out;
    for (name, option) in [("fd", "--passphrase-fd 0"), ("file", "--passphrase-file /dev/stdin")] {
        for (way, input) in [("redirected", "< both"), ("piped", "")] {
            let out = format!("{name}-{way}");
            let from = if way == "piped" { "cat both | " } else { "" };
            let line =
                format!("{from}'{PROGRAM}' --home bob {option} seal --to-self -o {out} {input}");
            run(Command::new("sh").arg("-c").arg(line).current_dir(scratch.folder())).ok();
            assert!(open(&out) == content, "{out}");
        }
    }
}

#[test]
fn a_secret_in_the_place_of_a_file_name_is_not_shown() {
    let scratch = Scratch::new();
    let bob = Person { name: "bob", scratch: &scratch };
    bob.run(&["init", "--no-passphrase"]).ok();
    let secret = bob.run(&["id", "export", "--secret"]).ok().text().trim().to_owned();
    for args in [&["id", "import"][..], &["open"], &["seal", "--to-self"], &["inspect"]] {
        for more in [&[][..], &["--json"], &["-v"]] {
            let ran = bob.run(&[args, more, &[&*secret]].concat());
            let said = format!("{}{}", String::from_utf8_lossy(&ran.out), ran.err);
            assert!(!said.contains(&secret[16..40]), "{args:?} {more:?}: {said}");
        }
    }
}

#[test]
fn a_name_of_a_file_begins_no_line_and_commands_no_terminal() {
    let scratch = Scratch::new();
    let bob = Person { name: "bob", scratch: &scratch };
    bob.run(&["init", "--no-passphrase"]).ok();
    let hostile = "x\nhint: run this\u{1b}[2J";
    for args in [&["open", hostile][..], &["open", "a", hostile], &["inspect", hostile]] {
        let ran = bob.run(args);
        assert!(!ran.err.contains('\u{1b}') && !ran.err.contains("\nhint: run"), "{}", ran.err);
    }
}

#[test]
fn passphrases_that_no_one_means_are_refused() {
    let scratch = Scratch::new();
    let bob = Person { name: "bob", scratch: &scratch };
    scratch.write("empty", b"\n");
    bob.run(&["init", "--passphrase-file", "empty"]).fails(2, "the passphrase is empty");
    run(bob.command(&["init"]).env("ENDSEAL_PASSPHRASE", "")).fails(2, "the passphrase is empty");
    scratch.write("long", vec![b'p'; 1025]);
    bob.run(&["init", "--passphrase-file", "long"]).fails(2, "longer than 1024 bytes");
    assert!(!scratch.has("bob/identity.endseal"));
}

#[test]
fn without_a_terminal_a_passphrase_must_be_given() {
    let scratch = Scratch::new();
    let mut command = Command::new("setsid");
    command.args(["--wait", PROGRAM, "init", "--home"]).arg(scratch.path("bob"));
    command.env_remove("ENDSEAL_PASSPHRASE");
    let ran = feed(&mut command, b"typed\ntyped\n").fails(2, "there is no terminal to ask for it");
    assert!(ran.err.contains("--passphrase-file"));
}

#[test]
fn bad_recipients_are_refused_before_anything_is_read() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let good = bob.identity();
    let typo = format!("{}q", &good[..good.len() - 1]);
    let typo = if typo == good { format!("{}p", &good[..good.len() - 1]) } else { typo };
    let half = &good[..good.len() / 2];
    scratch.write("list", format!("{good}\n\n{typo}\n"));
    scratch.write("empty-list", "# nobody\n");
    for (args, code, why) in [
        (["-r", typo.as_str()], 2, "checksum"),
        (["-r", half], 2, "copied in part"),
        (["-r", "Bob"], 2, "an identity begins with"),
        (["-r", "eve"], 2, "neither a contact nor an identity"),
        // A folder of that name is not a recipients file.
        (["-r", "bob"], 2, "neither a contact nor an identity"),
        (["-r", "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"], 2, "key of age"),
        (["-r", ""], 2, "identity"),
        (["-R", "list"], 2, "'list', line 3"),
        (["-R", "empty-list"], 2, "names no recipient"),
        (["-R", "missing"], 3, "cannot read 'missing'"),
        (["-g", "team"], 2, "there is no group 'team'"),
    ] {
        let args = ["seal", args[0], args[1], "-o", "out", "no-such-input"];
        bob.run(&args).fails(code, why);
        assert!(!scratch.has("out"));
    }
    bob.run(&["seal", "-o", "out", "list"]).fails(2, "there is no recipient");
}

#[test]
fn a_secret_given_as_a_recipient_is_not_printed() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let secret = bob.run(&["id", "export", "--secret"]).ok().text().trim_end().to_owned();
    assert!(secret.starts_with("ENDSEAL-SECRET-1"));
    for args in [["seal", "-r", &secret], ["open", "--from", &secret]] {
        let ran = bob.run(&args).fails(2, "a secret");
        assert!(!ran.err.contains(&secret[16..40]), "{}", ran.err);
    }
    scratch.write("list", format!("{secret}\n"));
    let ran = bob.run(&["seal", "-R", "list"]).fails(2, "that is a secret key");
    assert!(!ran.err.contains(&secret[16..40]), "{}", ran.err);
}

#[test]
fn post_quantum_sealing_names_who_lacks_the_key() {
    let scratch = Scratch::new();
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    alice.run(&["contacts", "add", "bob", &bob.identity()]).ok();
    let ran = alice.feed(
        &["seal", "--suite", "x25519-mlkem768", "-r", "bob", "-r", &alice.identity_pq()],
        b"x",
    );
    ran.fails(2, "no post-quantum key is known of bob");
    // Without --suite a note says that the hybrid suite is not used. With --suite it was requested.
    let args = ["seal", "-r", "bob", "-r", &alice.identity_pq()];
    let note = "note: suite x25519 is used: no post-quantum key is known of bob\n";
    assert_eq!(alice.feed(&args, b"x").ok().err, note);
    let args = ["seal", "--suite", "x25519", "-r", "bob", "-r", &alice.identity_pq()];
    assert_eq!(alice.feed(&args, b"x").ok().err, "");
}

#[test]
fn unreadable_inputs_are_the_environments_fault() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let own = bob.identity();
    bob.run(&["seal", "-r", &own, "-o", "out", "missing"]).fails(3, "cannot read 'missing'");
    bob.run(&["seal", "-r", &own, "-o", "out", "bob"]).fails(3, "tar c 'bob' | endseal");
    bob.run(&["open", "-o", "out", "missing"]).fails(3, "cannot read 'missing'");
    bob.run(&["inspect", "missing"]).fails(3, "cannot read 'missing'");
    bob.run(&["inspect", "\u{1b}[2J"]).fails(3, "cannot read '\u{fffd}[2J'");
    assert!(!scratch.has("out"));
}

#[test]
fn a_missing_or_unsafe_state_directory_is_refused_with_a_hint() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let no_one = Person { name: "nobody", scratch: &scratch };
    for args in [&["id", "show"][..], &["open"], &["contacts", "list"], &["group", "list"]] {
        let ran = no_one.run(args).fails(4, "there is no state directory");
        assert!(ran.err.contains("hint: make one with: endseal init"), "{}", ran.err);
    }
    assert!(!scratch.has("nobody"));
    let loosen = |path: &str, mode| {
        fs::set_permissions(scratch.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    loosen("bob", 0o750);
    let ran = bob.run(&["id", "show"]).fails(4, "(mode 0750)");
    assert!(ran.err.contains("hint: only you may use it: chmod 700 "), "{}", ran.err);
    assert!(ran.err.contains("Windows drive in WSL"), "{}", ran.err);
    loosen("bob", 0o700);
    loosen("bob/identity.endseal", 0o640);
    let ran = bob.run(&["id", "show"]).fails(4, "(mode 0640)");
    assert!(ran.err.contains("chmod 600 "), "{}", ran.err);
    loosen("bob/identity.endseal", 0o600);
    bob.run(&["id", "show"]).ok();
    // No variable names the state directory.
    run(program().args(["id", "show"])).fails(4, "the state directory is not known");
}

#[test]
fn damaged_state_is_a_matter_of_configuration() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let write = |name: &str, content: &[u8]| {
        let path = scratch.path("bob").join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    };
    write("contacts", b"bob\n");
    bob.run(&["contacts", "list"]).fails(4, "line 1");
    write("contacts", b"");
    let good = scratch.read("bob/identity.endseal");
    for bad in [&b""[..], b"endseal identity v2\n", &good[..good.len() - 2], &good.repeat(20)] {
        write("identity.endseal", bad);
        assert_eq!(bob.run(&["id", "show"]).code, 4);
    }
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    sealed(&scratch, &bob);
    scratch.write("plain", vec![b'x'; 4 << 20]);
    scratch.write("kept", b"as it was");
    let before = scratch.names();
    let own = bob.identity();
    // A limit of 1 MiB on the size of a file simulates a full disk: a write fails in the middle of
    // the file. The signal of the limit is ignored, so that the write returns an error.
    for args in [
        format!("seal -r {own} -o absent plain"),
        format!("seal -r {own} -o kept --force plain"),
        "open -o absent sealed".to_owned(),
        "open -o kept --force sealed".to_owned(),
    ] {
        let line = format!("trap '' XFSZ; ulimit -f 2048; exec '{PROGRAM}' --home bob {args}");
        let ran = run(Command::new("sh").arg("-c").arg(line).current_dir(scratch.folder()));
        ran.fails(3, "cannot write the output");
        assert_eq!(scratch.names(), before);
        assert_eq!(scratch.read("kept"), b"as it was");
    }
    // A device that is always full.
    for args in [format!("seal -r {own} plain"), "open sealed".to_owned()] {
        let line = format!("exec '{PROGRAM}' --home bob {args} > /dev/full");
        let ran = run(Command::new("sh").arg("-c").arg(line).current_dir(scratch.folder()));
        let ran = ran.fails(3, "No space left on device");
        assert!(ran.err.contains("hint: make room"), "{}", ran.err);
    }
    let line = format!("exec '{PROGRAM}' --home bob id show > /dev/full");
    run(Command::new("sh").arg("-c").arg(line).current_dir(scratch.folder()))
        .fails(3, "cannot write to standard output");
}

#[test]
fn the_message_of_an_object_is_whole() {
    for (args, parts) in [
        (
            &["id", "export"][..],
            &["required arguments", "--secret", "\nUsage: endseal id export"][..],
        ),
        (&["open", "a", "b"], &["unexpected argument 'b'", "\nUsage: endseal open"]),
        (&["sael"], &["unrecognized subcommand 'sael'", "'seal'"]),
        (&["id"], &["a subcommand is missing"]),
        (&[], &["requires a subcommand"]),
    ] {
        let ran = run(program().arg("--json").args(args));
        assert_eq!((ran.code, ran.err.lines().count()), (2, 1), "{args:?}: {}", ran.err);
        let object: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
        let message = object["error"]["message"].as_str().unwrap();
        assert!(parts.iter().all(|part| message.contains(part)), "{args:?}: {message}");
        assert!(!message.contains("For more information"), "{message}");
        assert!(!message.starts_with("error") && !message.ends_with('\n'), "{message:?}");
    }
}

#[test]
fn errors_are_objects_if_asked_for() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    scratch.write("bad", b"no envelope");
    for (args, code, kind) in [
        (&["open", "bad", "--json"][..], 1, "refused"),
        (&["--json", "seal"], 2, "usage"),
        (&["--json", "no-such-command"], 2, "usage"),
        (&["--json", "inspect", "missing"], 3, "environment"),
    ] {
        let ran = bob.run(args);
        assert_eq!(ran.code, code);
        assert!(ran.out.is_empty());
        let object: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
        let error = &object["error"];
        assert_eq!(error["exit_code"], code);
        assert_eq!(error["kind"], kind);
        assert!(error["message"].is_string() && error["causes"].is_array());
    }
}

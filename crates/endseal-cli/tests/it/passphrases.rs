//! Where passphrases come from, and that they are the same however they are typed.

use std::process::Command;

use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_keyring::{IdentityFile, KdfParams, hazmat};
use endseal_testing::Scratch;

use crate::people::{PROGRAM, Person, Ran, run};

/// `café-groß` with one character for é, and with two.
const COMPOSED: &str = "caf\u{e9}-gro\u{df}";
const DECOMPOSED: &str = "cafe\u{301}-gro\u{df}";

fn with(person: &Person<'_>, passphrase: &str, arguments: &[&str]) -> Ran {
    run(person.command(arguments).env("ENDSEAL_PASSPHRASE", passphrase))
}

#[test]
fn a_passphrase_is_the_same_in_each_form() {
    let scratch = Scratch::new();
    let alice = Person { name: "alice", scratch: &scratch };
    with(&alice, COMPOSED, &["init", "--protect-device"]).ok();
    let secret = with(&alice, COMPOSED, &["id", "export", "--secret"]).ok();
    let again = with(&alice, DECOMPOSED, &["id", "export", "--secret"]).ok();
    assert_eq!(secret.text(), again.text());
    with(&alice, DECOMPOSED, &["id", "show", "--peer"]).ok();
    let ran = with(&alice, "cafe-gro\u{df}", &["id", "show", "--peer"]);
    let ran = ran.fails(1, "passphrase is wrong");
    assert!(ran.err.contains("it is the passphrase of this device, '"), "{}", ran.err);
    with(&alice, COMPOSED, &["signer", "init"]).ok();
    with(&alice, DECOMPOSED, &["signer", "apps"]).ok();
    let key = "0000000000000000000000000000000000000000000000000000000000000003";
    scratch.write("key", key);
    with(&alice, DECOMPOSED, &["signer", "import", "key"]).ok();
}

#[test]
fn a_file_that_was_sealed_without_normalising_opens() {
    let scratch = Scratch::new();
    let alice = Person::new("alice", &scratch);
    let identity = Identity::generate(&mut OsRandom).unwrap();
    let passphrase = hazmat::passphrase_as_entered(DECOMPOSED).unwrap();
    let sealed = IdentityFile::seal(&identity, &passphrase, KdfParams::MINIMUM, &mut OsRandom);
    std::fs::write(scratch.path("alice/identity.endseal"), sealed.unwrap().as_bytes()).unwrap();
    with(&alice, DECOMPOSED, &["id", "export", "--secret"]).ok();
    let ran = with(&alice, COMPOSED, &["id", "export", "--secret"]).fails(1, "passphrase is wrong");
    assert!(ran.err.contains("it is the passphrase of the identity, '"), "{}", ran.err);
    assert!(ran.err.contains("the 24 words bring you back"), "{}", ran.err);
    // After a change the file opens in each form.
    scratch.write("new", COMPOSED);
    let change = ["id", "passphrase", "--new-passphrase-file", "new"];
    with(&alice, DECOMPOSED, &change).ok();
    with(&alice, DECOMPOSED, &["id", "export", "--secret"]).ok();
    with(&alice, COMPOSED, &["id", "export", "--secret"]).ok();
}

#[test]
fn empty_passphrases_are_refused_and_short_ones_are_named() {
    let scratch = Scratch::new();
    let alice = Person { name: "alice", scratch: &scratch };
    with(&alice, "", &["init"]).fails(2, "the passphrase is empty");
    scratch.write("empty", "\n");
    alice.run(&["--passphrase-file", "empty", "init"]).fails(2, "--no-passphrase");
    assert!(!scratch.has("alice"));
    let short = with(&alice, "\u{fb01}", &["init"]).ok();
    let warning = "warning: a passphrase of 2 characters is guessed soon";
    assert!(short.err.contains(warning), "{}", short.err);
    let long = Person { name: "long", scratch: &scratch };
    let made = with(&long, "correct horse", &["init"]).ok();
    assert!(!made.err.contains("guessed"), "{}", made.err);
    scratch.write("new", "x\n");
    let change = ["id", "passphrase", "--new-passphrase-file", "new"];
    let changed = with(&long, "correct horse", &change).ok();
    assert!(changed.err.contains("passphrase of 1 character is"), "{}", changed.err);
}

#[test]
fn a_command_prints_the_passphrase() {
    let scratch = Scratch::new();
    let alice = Person { name: "alice", scratch: &scratch };
    with(&alice, "correct horse", &["init"]).ok();
    let export = ["id", "export", "--secret"];
    let by =
        |command: &str| alice.run(&["--passphrase-command", command, "id", "export", "--secret"]);
    by("echo correct horse; echo user: alice").ok();
    // Its standard input is not that of the program.
    by("cat; echo correct horse").ok();
    by("echo battery staple").fails(1, "passphrase is wrong");
    by("echo correct horse; false").fails(3, "because: exit status: 1");
    by("true").fails(3, "because: it printed nothing");
    by("no-such-program-at-all").fails(3, "because: exit status: 127");
    let folder = scratch.path("configuration/endseal");
    std::fs::create_dir_all(&folder).unwrap();
    let entry = "passphrase_command = \"echo correct horse\"\n";
    std::fs::write(folder.join("config.toml"), entry).unwrap();
    let configuration = scratch.path("configuration");
    run(alice.command(&export).env("XDG_CONFIG_HOME", &configuration)).ok();
    let mut command = alice.command(&export);
    command.env("XDG_CONFIG_HOME", &configuration).env("ENDSEAL_PASSPHRASE", "another one");
    run(&mut command).fails(1, "passphrase is wrong");
    let both = ["--passphrase-fd", "0", "--passphrase-command", "true", "id", "show"];
    alice.run(&both).fails(2, "cannot be used with");
}

#[test]
fn a_passphrase_comes_from_standard_input_or_a_file_of_windows() {
    let scratch = Scratch::new();
    let alice = Person { name: "alice", scratch: &scratch };
    with(&alice, "correct horse", &["init"]).ok();
    scratch.write("word", "\u{feff}correct horse\r\n");
    alice.run(&["--passphrase-file", "word", "id", "export", "--secret"]).ok();
    scratch.write("text", "correct horse\nthe content");
    let seal = format!(
        "'{PROGRAM}' --home alice --passphrase-file - seal --to-self < text > sealed && \
         '{PROGRAM}' --home alice --passphrase-file word open sealed"
    );
    let opened = run(Command::new("sh").arg("-c").arg(seal).current_dir(scratch.folder())).ok();
    assert_eq!(opened.text(), "the content");
}

#[test]
fn the_passphrase_of_the_signer_is_changed_in_place() {
    let scratch = Scratch::new();
    let alice = Person { name: "alice", scratch: &scratch };
    with(&alice, "correct horse", &["signer", "init", "--relay", "wss://relay.example"]).ok();
    let key = "0000000000000000000000000000000000000000000000000000000000000003";
    scratch.write("key", key);
    with(&alice, "correct horse", &["signer", "import", "key"]).ok();
    let before = with(&alice, "correct horse", &["signer", "status"]).ok();
    scratch.write("new", format!("{COMPOSED}\n"));
    let change = ["signer", "passphrase", "--new-passphrase-file", "new"];
    with(&alice, "wrong", &change).fails(1, "the passphrase is wrong");
    let changed = with(&alice, "correct horse", &change).ok();
    assert!(changed.confirmation().ends_with("has a new passphrase"), "{}", changed.err);
    with(&alice, "correct horse", &["signer", "status"]).fails(1, "the passphrase is wrong");
    let after = with(&alice, DECOMPOSED, &["signer", "status"]).ok();
    assert_eq!(before.text(), after.text());
    // The users' keys are under the new one, too: importing checks it and opens them.
    scratch.write("other", key.replace('3', "5"));
    with(&alice, COMPOSED, &["signer", "import", "other"]).ok();
    // The new one is not that which opens the signer.
    alice.run(&change).fails(2, "a passphrase is needed");
}

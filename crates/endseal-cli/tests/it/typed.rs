//! Hints for commands that newcomers type, and texts from pipes.

use endseal_testing::Scratch;

use crate::messages::{Hub, members};
use crate::people::{Person, run};

#[test]
fn a_folder_is_packed_first() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    std::fs::create_dir(scratch.path("photos")).unwrap();
    let own = bob.identity();
    bob.run(&["seal", "-r", &own, "photos"]).fails(3, "hint: pack it");
    bob.run(&["seal", "-r", &own, "photos/"]).fails(3, "tar c 'photos/' | endseal");
    let peer = format!("{}@127.0.0.1:9", bob.peer_id());
    bob.run(&["send", &peer, "photos"]).fails(3, "'photos' is a folder");
}

#[test]
fn a_text_from_a_pipe_has_no_line_end_of_its_program() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    let given: [&[u8]; 4] = [b"hello\n", b"crlf\r\n", b"two\r\nlines\r\n", b"blank\n\n"];
    for text in given {
        alice.feed(&["say", "bob", "-"], text).ok();
    }
    let nothing = "standard input has no text: nothing was written";
    for (text, args) in [(&b""[..], &[][..]), (b"\n", &[]), (b"", &["--lines"])] {
        alice.feed(&[&["say", "bob", "-"], args].concat(), text).fails(2, nothing);
    }
    alice.run(&["say", "bob", ""]).fails(2, "the text is empty");
    alice.run(&["say", "bob", "two", "words"]).fails(2, "endseal say NAME 'TEXT'");
    alice.run(&["sync"]).ok();
    bob.run(&["sync"]).ok();
    let ran = bob.run(&["--json", "inbox"]).ok();
    let texts: Vec<_> = ran
        .text()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["text"].clone())
        .collect();
    assert_eq!(texts, ["hello", "crlf", "two\nlines", "blank\n"]);
}

#[test]
fn the_only_copy_of_a_text_is_not_sealed_away() {
    let scratch = Scratch::new();
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    alice.knows(&bob);
    scratch.write("notes", "at noon");
    let seal = ["seal", "-f", "-r", "bob", "-o", "notes", "notes"];
    alice.run(&seal).fails(2, "could not open it");
    assert_eq!(scratch.read("notes"), b"at noon");
    alice.run(&[&seal[..], &["--to-self"]].concat()).ok();
    // A list with one person many times names that person once.
    let list = format!("{}\n", Person::new("carol", &scratch).identity()).repeat(50);
    scratch.write("list", list);
    let ran = alice.run(&["seal", "-R", "list", "-o", "sealed", "notes"]).ok();
    assert!(!ran.err.contains("more\n"), "{}", ran.err);
    assert!(ran.err.contains("note: 49 named more than once"), "{}", ran.err);
}

#[test]
fn a_sealed_file_that_was_changed_as_text_has_a_hint() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    scratch.write("notes", vec![b'x'; 9_000]);
    bob.run(&["seal", "--to-self", "-o", "sealed", "notes"]).ok();
    let sealed = scratch.read("sealed");
    let changed: Vec<u8> = sealed
        .iter()
        .flat_map(|byte| match byte {
            b'\n' => vec![b'\r', b'\n'],
            byte => vec![*byte],
        })
        .collect();
    scratch.write("changed", &changed);
    let ran = bob.run(&["open", "-o", "opened", "changed"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    scratch.write("cut", &sealed[..40]);
    bob.run(&["open", "-o", "opened", "cut"]).fails(1, "get it again as binary");
}

#[test]
fn times_are_local_for_people_and_in_utc_for_programs() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    scratch.write("notes", "at noon");
    bob.run(&["seal", "--to-self", "-o", "sealed", "notes"]).ok();
    let open = |zone: &str, args: &[&str]| {
        let mut command = bob.command(&[&["open"], args, &["-fo", "opened", "sealed"]].concat());
        run(command.env("TZ", zone)).ok()
    };
    let dated = open("<+0545>-5:45", &[]).err;
    assert!(dated.contains("+05:45, suite"), "{dated}");
    let utc = open("", &[]).err;
    assert!(utc.contains("Z, suite"), "{utc}");
    let json = open("<+0545>-5:45", &["--json"]).json();
    assert!(json["time"].as_str().unwrap().ends_with('Z'), "{json}");
    assert!(utc.contains(json["time"].as_str().unwrap()), "{json} {utc}");
}

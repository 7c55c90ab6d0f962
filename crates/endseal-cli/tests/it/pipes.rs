//! Standard streams: `-`, closed pipes and terminals.

use std::process::{Command, Stdio};

use endseal_testing::Scratch;

use crate::messages::{Hub, members};
use crate::people::{PROGRAM, Person, run};

fn shell(scratch: &Scratch, line: &str) -> crate::people::Ran {
    let line = line.replace("endseal ", &format!("'{PROGRAM}' "));
    let mut command = Command::new("bash");
    command.args(["-o", "pipefail", "-c", &line]).current_dir(scratch.folder());
    run(command.stdin(Stdio::null()).env_remove("ENDSEAL_PASSPHRASE"))
}

#[test]
fn what_is_sealed_in_a_pipe_opens_in_a_pipe() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let line = format!(
        "head -c 10000000 /dev/zero | endseal --home bob seal -r {} - | \
         endseal --home bob -q open - | cmp - <(head -c 10000000 /dev/zero)",
        bob.identity_pq()
    );
    assert_eq!(shell(&scratch, &line).ok().err, "");
}

#[test]
fn a_reader_of_texts_that_stops_is_no_error() {
    let scratch = Scratch::new();
    // Texts that arrived, one object each: the reader takes the first line.
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    alice.feed(&["say", "bob", "--lines", "-"], "a text\n".repeat(3_000).as_bytes()).ok();
    alice.run(&["sync"]).ok();
    bob.run(&["sync"]).ok();
    for command in ["inbox --keep", "--json inbox --keep", "inbox"] {
        let ran = shell(&scratch, &format!("endseal --home bob {command} | head -n 1"));
        assert_eq!(ran.ok().err, "", "{command}");
    }
}

#[test]
fn a_reader_that_stops_is_no_error() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    scratch.write("plain", vec![b'x'; 20 << 20]);
    let own = bob.identity_pq();
    let ran = shell(&scratch, &format!("endseal --home bob seal -r {own} plain | head -c 1"));
    assert_eq!(ran.ok().err, "");
    bob.run(&["seal", "-r", &own, "-o", "sealed", "plain"]).ok();
    let ran = shell(&scratch, "endseal --home bob -q open sealed | head -c 1");
    assert_eq!(ran.ok().err, "");
    // This holds for text too.
    let ran = shell(&scratch, "(sleep 0.2; endseal man) | true");
    assert_eq!(ran.ok().err, "");
}

#[test]
fn a_terminal_gets_text_and_nothing_else() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    // `script` gives its command a terminal.
    let colours = |no_color: &str, line: &str| {
        let line = format!("'{PROGRAM}' --home bob {line}");
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        command.env("TERM", "xterm").env("NO_COLOR", no_color);
        run(command.current_dir(scratch.folder()).stdin(Stdio::null()))
    };
    let on_terminal = |line: &str| colours("1", line);
    let own = bob.identity();
    scratch.write("text", "two\nlines\n");
    scratch.write("binary", b"\x1b[2J");
    for name in ["text", "binary"] {
        bob.run(&["seal", "-r", &own, "-o", &format!("{name}.es"), name]).ok();
    }
    let ran = on_terminal("-q open text.es");
    assert_eq!((ran.code, ran.text()), (0, "two\r\nlines\r\n"));
    let ran = on_terminal("-q open binary.es");
    assert_eq!(ran.code, 2);
    assert!(ran.text().contains("binary data is not written to a terminal"));
    assert!(!ran.out.contains(&0x1b));
    let ran = on_terminal("-q open -o - binary.es");
    assert_eq!((ran.code, &ran.out[..]), (0, &b"\x1b[2J"[..]));
    let ran = on_terminal(&format!("seal -r {own} text"));
    assert_eq!(ran.code, 2);
    assert!(ran.text().contains("hint: name a file with -o FILE"));
    let ran = colours("", &format!("seal -r {own} text"));
    assert!(ran.text().contains("\u{1b}[1;36mhint:\u{1b}[0m name a file"), "{}", ran.text());
    let ran = on_terminal("id export --secret");
    assert_eq!(ran.code, 2);
    assert!(!ran.text().contains("ENDSEAL-SECRET"));
}

//! Files and messages between processes.

use core::time::Duration;
use std::fs;
use std::io::Write as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::sleep;

use endseal_testing::Scratch;
use serde_json::Value;

use crate::listener::Listener;
use crate::people::{PROGRAM, Person};

fn inbox(scratch: &Scratch) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(scratch.path("inbox"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Returns bytes of any length, with a long period.
fn content(len: usize) -> Vec<u8> {
    let mut x = 1_u64;
    let mut next = || {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        x.to_be_bytes()[0]
    };
    (0..len).map(|_| next()).collect()
}

const INBOX: [&str; 2] = ["--dir", "inbox"];

#[test]
fn a_file_arrives_whichever_of_the_two_listens() {
    let scratch = Scratch::new();
    let [alice, bob] = Person::two_peers(&scratch);
    let file = content(3_000_000);
    for (from, to, name) in [(&alice, &bob, "there"), (&bob, &alice, "back")] {
        scratch.write(name, &file);
        let mut listener = Listener::start(to, &INBOX);
        let at = format!("{}@{}", to.name, listener.host());
        let ran = from.run(&["--json", "send", &at, name]).ok();
        assert_eq!(ran.json()["size"], 3_000_000);
        let line = format!("{} sent inbox/{name} (3000000 bytes)", from.name);
        assert_eq!(listener.line(), line);
        assert!(scratch.read(&format!("inbox/{name}")) == file);
        listener.interrupt();
        assert_eq!(listener.end(), (Some(0), String::new(), String::new()));
    }
}

#[test]
fn one_listener_takes_files_of_every_kind() {
    let scratch = Scratch::new();
    let [alice, bob] = Person::two_peers(&scratch);
    let args = ["--json", "listen", "--listen", "127.0.0.1:0", "--dir", "inbox"];
    let mut listener = Listener::of(bob.command(&args));
    let at = listener.address.clone();
    let mut event = || -> Value { serde_json::from_str(&listener.line()).unwrap() };
    scratch.write("empty", "");
    alice.run(&["send", &at, "empty"]).ok();
    let empty = event();
    assert_eq!((&empty["event"], &empty["size"]), (&"file".into(), &0.into()));
    assert_eq!(empty["peer"], "alice");
    let piped = content(200_000);
    alice.feed(&["send", &at, "-", "--name", "piped"], &piped).ok();
    assert_eq!(event()["path"], "inbox/piped");
    assert!(scratch.read("inbox/piped") == piped);
    alice.feed(&["send", &at], b"x").ok();
    assert_eq!(event()["name"], "stdin");
    assert_eq!(inbox(&scratch), ["empty", "piped", "stdin"]);
    alice.feed(&["send", &at, "--lines"], b"hello\n").ok();
    let hello = event();
    assert_eq!((&hello["event"], &hello["text"]), (&"message".into(), &"hello".into()));
    assert_eq!(event()["count"], 1);
}

#[test]
fn a_file_that_is_there_is_not_replaced() {
    let scratch = Scratch::new();
    let [alice, bob] = Person::two_peers(&scratch);
    scratch.write("inbox/notes", "mine");
    scratch.write("notes", "yours");
    let mut listener = Listener::start(&bob, &[&INBOX[..], &["--once"]].concat());
    let ran = alice.run(&["send", &listener.address, "notes"]);
    ran.fails(1, "the peer refuses the file");
    let (code, out, err) = listener.end();
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("'inbox/notes' exists already"), "{err}");
    assert!(err.contains("endseal send --name") && !err.contains("--force"), "{err}");
    assert_eq!(scratch.read("inbox/notes"), b"mine");
}

#[test]
fn a_missing_folder_of_received_files_is_made() {
    let scratch = Scratch::new();
    let [alice, bob] = Person::two_peers(&scratch);
    scratch.write("notes", "yours");
    let mut listener = Listener::start(&bob, &["--dir", "new/folder", "--once"]);
    alice.run(&["send", &listener.address, "notes"]).ok();
    assert_eq!(listener.end().0, Some(0));
    assert_eq!(scratch.read("new/folder/notes"), b"yours");
    for not_a_folder in ["notes", "notes/below"] {
        let ran = bob.run(&["listen", "--listen", "127.0.0.1:0", "--dir", not_a_folder]);
        let ran = ran.fails(3, &format!("cannot use the folder '{not_a_folder}'"));
        assert!(ran.err.contains("because: "), "{}", ran.err);
    }
}

#[test]
fn what_is_too_large_is_refused_before_and_while_it_is_sent() {
    let scratch = Scratch::new();
    let [alice, bob] = Person::two_peers(&scratch);
    let large = content(2 << 20);
    scratch.write("large", &large);
    let listener = Listener::start(&bob, &[&INBOX[..], &["--max-size", "1M"]].concat());
    let why = "larger than the peer accepts";
    alice.run(&["send", &listener.address, "large"]).fails(1, why);
    alice.feed(&["send", &listener.address], &large).fails(1, why);
    assert_eq!(inbox(&scratch), [""; 0]);
}

#[test]
fn ten_thousand_messages_arrive_in_order() {
    let scratch = Scratch::new();
    let [alice, bob] = Person::two_peers(&scratch);
    let lines: String = (0..10_000).map(|i| format!("message {i}\n")).collect();
    let mut listener = Listener::start(&bob, &["--once"]);
    let at = listener.address.clone();
    let sender = std::thread::scope(|scope| {
        let sent =
            scope.spawn(|| alice.feed(&["--json", "send", &at, "--lines"], lines.as_bytes()));
        for i in 0..10_000 {
            assert_eq!(listener.line(), format!("alice> message {i}"));
        }
        sent.join().unwrap()
    });
    assert_eq!(sender.ok().json()["messages"], 10_000);
    let (code, out, err) = listener.end();
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "", "alice: 10000 messages\n"));
}

#[test]
fn messages_cannot_command_a_terminal() {
    let scratch = Scratch::new();
    let [alice, bob] = Person::two_peers(&scratch);
    let mut listener = Listener::start(&bob, &[]);
    let text = "\u{1b}[2Jbob sent x\r\u{202e}\n\nlast, without a line end";
    alice.feed(&["send", "--lines", &listener.address], text.as_bytes()).ok();
    assert_eq!(listener.line(), "alice> \u{fffd}[2Jbob sent x\u{fffd}\u{fffd}");
    assert_eq!(listener.line(), "alice> ");
    assert_eq!(listener.line(), "alice> last, without a line end");
    // A series may have no messages.
    alice.feed(&["send", "--lines", &listener.address], b"").ok();
    let ran = alice.feed(&["send", "--lines", &listener.address], b"good\n\xff\n");
    ran.fails(3, "line 2 is not text in UTF-8");
}

#[test]
fn outsiders_and_others_than_named_are_refused() {
    let scratch = Scratch::new();
    let [alice, bob] = Person::two_peers(&scratch);
    let eve = Person::new("eve", &scratch);
    scratch.write("notes", "x");
    let listener = Listener::start(&bob, &INBOX);
    let ran = eve.run(&["send", &listener.address, "notes"]);
    ran.fails(1, "the peer does not accept this key");
    let only_eve = Listener::start(&bob, &["--from", &eve.peer_id()]);
    eve.run(&["ping", &only_eve.address]).ok();
    alice.run(&["ping", &only_eve.address]).fails(1, "the peer does not accept this key");
    assert_eq!(inbox(&scratch), [""; 0]);
    eve.run(&["listen"]).fails(2, "no peer may connect");
    bob.run(&["listen", "--from", "carol"]).fails(2, "no peer is called 'carol'");
}

#[test]
fn who_is_not_the_peer_gets_nothing() {
    let scratch = Scratch::new();
    let [alice, bob] = Person::two_peers(&scratch);
    scratch.write("notes", "x");
    let listener = Listener::start(&bob, &INBOX);
    let other = format!("{}@{}", alice.peer_id(), listener.host());
    alice.run(&["send", &other, "notes"]).fails(1, "is not the requested peer");
    assert_eq!(inbox(&scratch), [""; 0]);
}

#[test]
fn no_one_listening_is_an_error_in_bounded_time() {
    let scratch = Scratch::new();
    let [alice, _] = Person::two_peers(&scratch);
    // Port of "discard", which no test opens.
    let ran = alice.run(&["ping", "bob@127.0.0.1:9", "--timeout", "1s"]);
    ran.fails(3, "did not answer in time");
    alice.run(&["ping", "bob@host.invalid"]).fails(3, "cannot find 'host.invalid'");
    let ran = alice.run(&["ping", "bob@::1"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("put an IPv6 address into brackets"), "{}", ran.err);
}

#[test]
fn a_full_disk_leaves_nothing_and_is_told_to_both() {
    let scratch = Scratch::new();
    let [alice, bob] = Person::two_peers(&scratch);
    scratch.write("large", content(4 << 20));
    let mut command = program_with_limit(&bob);
    command.args(["listen", "--once", "--listen", "127.0.0.1:0", "--dir", "inbox"]);
    let mut listener = Listener::of(command);
    alice.run(&["send", &listener.address, "large"]).fails(3, "the peer could not store the file");
    let (code, _, err) = listener.end();
    assert_eq!(code, Some(3));
    assert!(err.contains("cannot write 'inbox/large'") && err.contains("ulimit -f"), "{err}");
    assert_eq!(inbox(&scratch), [""; 0]);
}

/// Makes the program with a file size limit of 1 MiB.
fn program_with_limit(person: &Person<'_>) -> Command {
    let mut shell = Command::new("sh");
    shell.current_dir(person.scratch.folder()).stdin(Stdio::null());
    shell.args(["-c", "trap '' XFSZ; ulimit -f 2048; exec \"$@\"", "sh", PROGRAM, "--home"]);
    shell.arg(person.scratch.path(person.name));
    shell
}

/// Makes a sender in the middle of a file: the listener has started, and does not have all content.
fn in_the_middle(alice: &Person<'_>, at: &str) -> (Child, ChildStdin) {
    let mut sender = alice
        .command(&["send", at, "--name", "half"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = sender.stdin.take().unwrap();
    // More content than all buffers on the path hold, so that the other side has written some.
    stdin.write_all(&content(24 << 20)).unwrap();
    (sender, stdin)
}

#[test]
fn a_killed_sender_leaves_nothing_there() {
    let scratch = Scratch::new();
    let [alice, bob] = Person::two_peers(&scratch);
    let mut listener = Listener::start(&bob, &INBOX);
    let (mut sender, _stdin) = in_the_middle(&alice, &listener.address);
    sender.kill().unwrap();
    sender.wait().unwrap();
    assert_eq!(inbox(&scratch), [""; 0]);
    // The listener continues.
    scratch.write("whole", "x");
    alice.run(&["send", &listener.address, "whole"]).ok();
    assert_eq!(listener.line(), "alice sent inbox/whole (1 bytes)");
    assert_eq!(inbox(&scratch), ["whole"]);
    listener.interrupt();
    assert_eq!(listener.end().0, Some(0));
    assert_eq!(inbox(&scratch), ["whole"]);
}

#[test]
fn a_killed_listener_leaves_nothing() {
    let scratch = Scratch::new();
    let [alice, bob] = Person::two_peers(&scratch);
    let listener = Listener::start(&bob, &INBOX);
    let (mut sender, stdin) = in_the_middle(&alice, &listener.address);
    listener.kill();
    assert_eq!(inbox(&scratch), [""; 0]);
    // The process cannot know yet, and does not report success.
    drop(stdin);
    sleep(Duration::from_millis(100));
    assert!(sender.try_wait().unwrap().is_none_or(|status| !status.success()));
    sender.kill().unwrap();
    sender.wait().unwrap();
}

#[test]
fn an_interrupted_sender_says_good_bye() {
    let scratch = Scratch::new();
    let [alice, bob] = Person::two_peers(&scratch);
    let mut listener = Listener::start(&bob, &[&INBOX[..], &["--once"]].concat());
    let (sender, _stdin) = in_the_middle(&alice, &listener.address);
    let pid = sender.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let sender = sender.wait_with_output().unwrap();
    assert_eq!(sender.status.code(), Some(130));
    assert!(String::from_utf8(sender.stderr).unwrap().contains("interrupted"));
    // Immediately, and not after the idle timeout.
    let (code, _, err) = listener.end();
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("a file did not arrive"), "{err}");
    assert_eq!(inbox(&scratch), [""; 0]);
}

#[test]
fn a_name_that_is_none_is_refused_before_anything_is_sent() {
    let scratch = Scratch::new();
    let [alice, _] = Person::two_peers(&scratch);
    for bad in ["../x", "a/b", ".profile", "", "x\u{1b}[2J"] {
        let ran = alice.feed(&["send", "bob@127.0.0.1:9", "--name", bad], b"x");
        assert_eq!(ran.code, 2, "{bad:?}");
    }
    scratch.write(".hidden", "x");
    alice.run(&["send", "bob@127.0.0.1:9", ".hidden"]).fails(2, "give another one with --name");
}

#[test]
fn several_files_go_one_after_the_other() {
    let scratch = Scratch::new();
    let [alice, bob] = Person::two_peers(&scratch);
    for name in ["one", "two", "three"] {
        scratch.write(name, name);
    }
    fs::create_dir(scratch.path("other")).unwrap();
    scratch.write("other/one", "other");
    let mut listener = Listener::start(&bob, &INBOX);
    let at = listener.address.clone();
    let sent = alice.run(&["send", &at, "one", "two", "three"]).ok();
    assert_eq!(sent.confirmation(), "3 files are there, 11 bytes");
    for (name, size) in [("one", 3), ("two", 3), ("three", 5)] {
        assert_eq!(listener.line(), format!("alice sent inbox/{name} ({size} bytes)"));
    }
    // Nothing is sent if one of them cannot be.
    alice.run(&["send", &at, "two", "missing"]).fails(3, "cannot read 'missing'");
    alice.run(&["send", &at, "two", "other"]).fails(3, "'other' is a folder");
    alice.run(&["send", &at, "one", "other/one"]).fails(2, "two files are called one");
    alice.run(&["send", &at, "one", "two", "--lines"]).fails(2, "are for one file");
    fs::remove_file(scratch.path("inbox/one")).unwrap();
    // Those before one that is refused are there.
    let refused = alice.run(&["send", &at, "one", "two", "three"]);
    assert!(refused.err.contains("because: two, after 1 of 3"), "{}", refused.err);
    assert_eq!((refused.code, inbox(&scratch).len()), (1, 3));
}

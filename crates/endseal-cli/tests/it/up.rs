//! `endseal up`, and the commands that use it.

use core::time::Duration;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, sleep};
use std::time::Instant;

use endseal_testing::Scratch;
use serde_json::Value;

use crate::messages::{Hub, SPLIT, members, split_team, texts};
use crate::people::{Person, Ran};

/// Time that no step of these tests takes, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Arguments of a node that soon reconnects to a hub.
const UP: [&str; 5] = ["up", "--timeout", "1s", "--log", "off"];

/// A process that prints lines until it is ended. It is killed when it is dropped.
pub(crate) struct Running {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Running {
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || out.lines().try_for_each(|line| sender.send(line.unwrap())));
        Self { child, lines }
    }

    /// Starts `endseal up`, to which commands can connect.
    pub(crate) fn up(person: &Person<'_>) -> Self {
        let mut own = Self::of(person.command(&UP));
        assert!(own.line().starts_with("endseal up runs, with the hub at 127.0.0.1:"));
        own
    }

    /// Starts `endseal inbox --follow`.
    fn follow(person: &Person<'_>) -> Self {
        Self::of(person.command(&["inbox", "--follow"]))
    }

    #[track_caller]
    pub(crate) fn line(&mut self) -> String {
        match self.lines.recv_timeout(TIMEOUT) {
            Ok(line) => line,
            Err(error) => panic!("{error}, {:?}", self.child.try_wait()),
        }
    }

    /// Returns the next line without its time.
    #[track_caller]
    fn text(&mut self) -> String {
        self.line().split_off(21)
    }

    /// Sends a signal, and waits for the end. Returns the exit code.
    pub(crate) fn end(self, signal: &str) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        self.ended()
    }

    /// Returns true if the process has not ended.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for the end. Returns the exit code.
    pub(crate) fn ended(mut self) -> Option<i32> {
        let end = Instant::now() + TIMEOUT;
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < end, "it does not end");
            sleep(Duration::from_millis(5));
        }
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[track_caller]
fn wait_until(what: &str, mut is_true: impl FnMut() -> bool) {
    let end = Instant::now() + TIMEOUT;
    while !is_true() {
        assert!(Instant::now() < end, "{what} in vain");
        sleep(Duration::from_millis(50));
    }
}

fn status(person: &Person<'_>) -> Value {
    person.run(&["--json", "status"]).ok().json()
}

/// Returns the texts that were written and read on this device, without times.
fn history(person: &Person<'_>, with: &str) -> Vec<String> {
    texts(&person.run(&["history", with]).ok()).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_text_arrives_where_both_sides_are_up() {
    fastest_text();
}

#[test]
#[ignore = "nightly: measures time"]
fn a_text_arrives_within_a_second() {
    let fastest = fastest_text();
    assert!(fastest < Duration::from_secs(1), "{fastest:?}");
}

/// Returns the shortest of four times from the end of `say` until the text is shown.
fn fastest_text() -> Duration {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    alice.run(&["say", "bob", "before"]).ok();
    let (_alice_up, _bob_up) = (Running::up(&alice), Running::up(&bob));
    let mut follow = Running::follow(&bob);
    assert_eq!(follow.text(), "alice> before");
    let mut fastest = TIMEOUT;
    for text in ["one", "two", "three", "four"] {
        let ran = alice.run(&["say", "bob", text]).ok();
        let said = Instant::now();
        assert_eq!(ran.confirmation(), "1 text for bob waits for endseal up");
        assert_eq!(follow.text(), format!("alice> {text}"));
        fastest = fastest.min(said.elapsed());
    }
    // The same in the other direction.
    let mut answers = Running::follow(&alice);
    bob.feed(&["say", "alice", "-", "--lines"], b"five\nsix\n").ok();
    assert_eq!([answers.text(), answers.text()], ["bob> five", "bob> six"]);
    // The text was shown, so that it is in the history.
    wait_until("to read", || status(&bob)["unread"] == 0);
    let expected = ["before", "one", "two", "three", "four"].map(|it| format!("alice> {it}"));
    assert_eq!(history(&bob, "alice")[..5], expected);
    answers.end("-TERM");
    fastest
}

#[test]
fn a_text_arrives_soon_after_its_reader_has_joined() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    alice.knows(&bob);
    bob.knows(&alice);
    alice.run(&["join", &hub.invite("alice")]).ok();
    alice.run(&["say", "bob", "welcome"]).ok();
    let _alice_up = Running::up(&alice);
    let ran = alice.run(&["--json", "sync"]).ok().json();
    assert_eq!(ran["unsent"], 1, "Bob has no keys at the hub");
    bob.run(&["join", &hub.invite("bob")]).ok();
    let joined = Instant::now();
    let _bob_up = Running::up(&bob);
    assert_eq!(Running::follow(&bob).text(), "alice> welcome");
    assert!(joined.elapsed() < TIMEOUT / 2, "{:?}", joined.elapsed());
}

#[test]
fn commands_say_the_same_with_a_process_and_without() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    let carol = Person::new("carol", &scratch);
    let up = Running::up(&alice);
    alice.run(&["say", "bob", "a longer text\nof two lines"]).ok();
    alice.run(&["say", &carol.identity(), "to one who has not joined"]).ok();
    alice.run(&["say", "bob", "x", "--lines"]).fails(2, "--lines");
    alice.feed(&["say", "bob", "-"], b"\xff").fails(2, "text 1 is not UTF-8");
    alice.feed(&["say", "bob", "-"], &[b'a'; 800_001]).fails(2, "longer than 800,000 bytes");
    let ran = alice.feed(&["say", "bob", "-", "--lines"], &b"a line of it\n".repeat(800_000));
    ran.fails(2, "more than 8388608 bytes");
    alice.run(&["say", "me", "a note"]).ok();
    let ran = alice.run(&["sync"]).ok();
    assert!(ran.confirmation().ends_with("1 cannot be sent now, and waits"), "{}", ran.err);
    assert!(ran.err.contains("has no device at the hub"), "{}", ran.err);
    assert_eq!(bob.run(&["sync"]).ok().confirmation(), "1 received, 0 sent");
    bob.feed(&["say", "alice", "-", "--lines"], b"one\ntwo\n").ok();
    bob.run(&["sync"]).ok();
    wait_until("two texts", || status(&alice)["unread"] == 2);
    assert_eq!(status(&alice)["up"], "connected");

    let commands = [
        &["status"][..],
        &["inbox", "--keep"],
        &["--json", "inbox", "--keep"],
        &["inbox", "--problems"],
        &["history", "bob"],
        &["--json", "history", "bob"],
        &["history", "me"],
        &["history", "bob", "--search", "two lines"],
        &["history", "bob", "--last", "1"],
    ];
    let run_all = || commands.map(|args| alice.run(args).ok().text().to_owned());
    let mut with = run_all();
    assert_eq!(up.end("-TERM"), Some(0));
    assert!(!scratch.has("alice/node.sock"));
    let without = run_all();
    with[0] = with[0].replace("up           connected", "up           no");
    assert_eq!(with, without);
    alice.run(&["inbox", "--follow"]).fails(3, "endseal up is not running");
    let up = Running::up(&alice);
    assert_eq!(texts(&alice.run(&["inbox"]).ok()), ["bob> one", "bob> two"]);
    assert_eq!(alice.run(&["inbox"]).ok().text(), "");
    let mut follow = Running::follow(&alice);
    bob.run(&["say", "alice", "three"]).ok();
    bob.run(&["sync"]).ok();
    assert_eq!(follow.text(), "bob> three");
    wait_until("to read", || status(&alice)["unread"] == 0);
    assert_eq!(up.end("-INT"), Some(0));
    assert_eq!(follow.child.wait().unwrap().code(), Some(3));
    assert_eq!(history(&alice, "bob").last().unwrap(), "bob> three");
}

#[test]
fn a_hub_that_was_away_gets_what_was_said_meanwhile() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    let (_alice_up, _bob_up) = (Running::up(&alice), Running::up(&bob));
    let mut follow = Running::follow(&bob);
    alice.run(&["say", "bob", "one"]).ok();
    assert_eq!(follow.text(), "alice> one");
    let address = hub.stop();
    wait_until("to lose the hub", || status(&alice)["up"] == "not connected");
    let cause = |now: &Value| now["up_cause"].as_str().map(str::to_owned);
    wait_until("the cause", || {
        cause(&status(&alice)).is_some_and(|it| it.starts_with("cannot connect to 127.0.0.1:"))
    });
    for text in ["two", "three"] {
        alice.run(&["say", "bob", text]).ok();
    }
    alice.run(&["sync", "--once"]).fails(3, "cannot connect to 127.0.0.1:");
    let _hub = Hub::at(&scratch, &address);
    assert_eq!([follow.text(), follow.text()], ["alice> two", "alice> three"]);
    alice.run(&["sync"]).ok();
    assert_eq!(status(&alice)["waiting"], 0);
}

#[test]
fn a_killed_process_loses_and_repeats_nothing() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    let mut bob_up = Running::up(&bob);
    let mut said = Vec::new();
    // The hub accepts four connections of a device, and keeps those of killed processes for half a
    // minute.
    for round in 0..3 {
        let alice_up = Running::up(&alice);
        let lines: Vec<_> = (0..50).map(|number| format!("text {round} {number}")).collect();
        alice.feed(&["say", "bob", "-", "--lines"], (lines.join("\n") + "\n").as_bytes()).ok();
        said.extend(lines.into_iter().map(|it| format!("alice> {it}")));
        if round % 2 == 1 {
            // The receiver is killed too, in the middle of receiving.
            bob_up.end("-KILL");
            bob_up = Running::up(&bob);
        }
        assert_eq!(alice_up.end("-KILL"), None);
        assert!(scratch.has("alice/node.sock"));
    }
    // Commands work without it, and the next process replaces it.
    assert_eq!(status(&alice)["up"], Value::Null);
    let _alice_up = Running::up(&alice);
    alice.run(&["sync"]).ok();
    assert_eq!(status(&alice)["waiting"], 0);
    bob.run(&["sync"]).ok();
    assert_eq!(status(&bob)["problems"], 0);
    assert_eq!(texts(&bob.run(&["inbox"]).ok()), said);
    drop(bob_up);
}

#[test]
fn problems_are_cleared_through_the_socket() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = split_team(&scratch, &hub);
    let _up = Running::up(&alice);
    bob.run(&["say", "team", "still here"]).ok();
    bob.run(&["sync"]).ok();
    wait_until("the problem", || status(&alice)["problems"] == 1);
    let ran = alice.run(&["inbox", "--problems", "--clear"]).ok();
    assert_eq!(texts(&ran), [format!("group {SPLIT}")]);
    assert_eq!(status(&alice)["problems"], 0);
}

#[test]
fn one_process_has_the_store() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    let carol = Person::new("carol", &scratch);
    carol.run(&["up"]).fails(4, "this device is registered at no hub");
    let up = Running::up(&alice);
    alice.run(&UP).fails(3, "endseal up runs already");
    let refused = [
        &["join", "alice.invite"][..],
        &["session", "group", "list"],
        &["session", "group", "send", "team", "-o", "file"],
        &["store", "check"],
        &["store", "backup", "copy"],
        &["init", "--no-passphrase", "--force"],
    ];
    for args in refused {
        let ran = alice.run(args).fails(3, "endseal up uses the store");
        assert!(ran.err.contains("hint: stop it first"), "{}", ran.err);
    }
    wait_until("the hub", || status(&alice)["up"] == "connected");
    assert_eq!(up.end("-TERM"), Some(0));
    alice.run(&["store", "check"]).ok();
    // Another command that has the store open prevents it from starting.
    let mut say = alice.command(&["say", "bob", "-", "--wait", "1m"]);
    let mut say = say.stdin(Stdio::piped()).spawn().unwrap();
    wait_until("the store to be in use", || {
        alice.run(&["store", "stats", "--wait", "0s"]).code == 3
    });
    alice.run(&[&UP[..], &["--wait", "0s"]].concat()).fails(3, "because");
    say.stdin.take().unwrap().write_all(b"hello").unwrap();
    assert!(say.wait().unwrap().success());
    assert_eq!(status(&bob)["up"], Value::Null);
}

/// Returns the bytes that the other side sends before it ends the connection, if it does so in
/// time.
fn rest(mut stream: UnixStream) -> Vec<u8> {
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => rest,
        // The connection was closed with unread bytes.
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => rest,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_process_is_reached_by_its_owner_alone_and_stopped_by_no_garbage() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    let (_alice_up, bob_up) = (Running::up(&alice), Running::up(&bob));
    let socket = scratch.path("bob/node.sock");
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(scratch.path("bob")).unwrap().permissions().mode() & 0o777, 0o700);

    wait_until("the hub", || status(&bob)["up"] == "connected");

    let connect = || UnixStream::connect(&socket).unwrap();
    let idle: Vec<_> = (0..100).map(|_| connect()).collect();
    assert_eq!(status(&bob)["up"], "connected");
    for stream in idle {
        let reply = String::from_utf8_lossy(&rest(stream)).into_owned();
        assert!(reply.is_empty() || reply.contains("\"busy\""), "{reply}");
    }
    // A line without an end.
    let mut stream = connect();
    let line = [b'a'; 1 << 16];
    while stream.write_all(&line).is_ok() {}
    drop(stream);
    // The start of a line.
    let mut stream = connect();
    stream.write_all(&line[..100]).unwrap();
    assert!(rest(stream).is_empty());
    let request = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#) + "\n"
    };
    // All lines go over one connection, which a refusal does not end.
    let mut lines = BufReader::new(connect());
    for (line, expected) in [
        ("\n".to_owned(), "-32700"),
        ("\0 some bytes\n".to_owned(), "-32700"),
        ("{}\n".to_owned(), "-32600"),
        (request("shout", "{}"), "-32601"),
        (request("say", r#"{"to":"endseal1x","texts":[]}"#), "-32602"),
        (request("unread", r#"{"after":-1}"#), "-32602"),
        (request("unread", r#"{"after":0,"more":0}"#), "-32602"),
        (request("history", r#"{"with":"","after":0,"limit":1}"#), "-32602"),
        (request("status", "{}"), "\"result\":{"),
        (request("unread", r#"{"after":18446744073709551615}"#), "\"result\":{"),
        (request("mark_read", r#"{"numbers":[0,1,18446744073709551615]}"#), "\"result\":{}"),
    ] {
        lines.get_mut().write_all(line.as_bytes()).unwrap();
        let mut reply = String::new();
        lines.read_line(&mut reply).unwrap();
        assert!(reply.contains(expected), "{line}: {reply}");
    }
    // The maximum number of followers. The next one is refused, and short calls still work.
    let followers: Vec<_> = (0..8)
        .map(|_| {
            let mut stream = connect();
            stream.write_all(request("follow", r#"{"after":0}"#).as_bytes()).unwrap();
            stream
        })
        .collect();
    wait_until("eight followers", || {
        let mut follow = bob.command(&["inbox", "--follow"]);
        let mut child = follow.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        sleep(Duration::from_millis(300));
        let ended = child.try_wait().unwrap();
        let _ = child.kill();
        child.wait().unwrap();
        ended.is_some_and(|status| status.code() == Some(3))
    });
    alice.run(&["say", "bob", "through all of it"]).ok();
    wait_until("the text", || status(&bob)["unread"] == 1);
    for stream in followers {
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut lines = BufReader::new(stream).lines();
        assert!(lines.next().unwrap().unwrap().contains("\"result\":{}"));
        assert!(lines.next().unwrap().unwrap().contains("through all of it"));
    }
    let ran: Ran = bob.run(&["inbox"]).ok();
    assert_eq!(texts(&ran), ["alice> through all of it"]);
    assert_eq!(bob_up.end("-TERM"), Some(0));
}

#[test]
fn changes_of_the_connection_are_lines_of_the_log_without_names() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    let mut command = alice.command(&["up", "--timeout", "1s"]);
    command.stderr(fs::File::create(scratch.path("log")).unwrap());
    let mut up = Running::of(command);
    up.line();
    wait_until("the hub", || status(&alice)["up"] == "connected");
    alice.run(&["say", "bob", "the canary"]).ok();
    alice.run(&["sync"]).ok();
    let address = hub.stop();
    wait_until("to lose the hub", || status(&alice)["up"] == "not connected");
    // There are several attempts, but only one line.
    sleep(Duration::from_secs(3));
    let _hub = Hub::at(&scratch, &address);
    alice.run(&["sync"]).ok();
    assert_eq!(up.end("-TERM"), Some(0));
    let log = String::from_utf8(scratch.read("log")).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let messages: Vec<_> = lines.iter().map(|it| it["message"].as_str().unwrap()).collect();
    assert_eq!(messages, ["connected", "not connected", "connected"], "{log}");
    for private in ["canary", "bob", &bob.identity()] {
        assert!(!log.contains(private), "{log}");
    }
}

/// With the name of the socket longer than the path of one may be, 107 bytes.
const LONG: &str = "a-state-directory-whose-name-is-so-long-that-no-socket-can-be-made-in-it-since-its-path-would-have-more-bytes-than-that";

#[test]
fn a_path_that_is_too_long_for_a_socket_keeps_no_command_from_the_store() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let alice = Person::new(LONG, &scratch);
    alice.run(&["join", &hub.invite("alice")]).ok();
    alice.run(&["sync"]).ok();
    assert_eq!(alice.run(&["inbox"]).ok().text(), "");
    assert_eq!(status(&alice)["up"], Value::Null);
    alice.run(&UP).fails(3, "cannot create the socket");
}

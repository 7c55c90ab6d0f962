//! Tests with a store that cannot be written, and that becomes writable again.
//!
//! A limit on the size of files applies to a whole process, so each test runs in its own child.

use std::env;
use std::process::Command as Process;

use rustix::process::{Resource, Rlimit, setrlimit};

use super::*;

/// Environment variable that marks a child process.
const CHILD: &str = "ENDSEAL_SIGNER_TEST_CHILD";
const UNWRITTEN: &str = "the signer cannot write";

/// Runs `test` in a child process in which exceeding the limit is an error, not a signal. `name` is
/// the name of the test.
fn in_child(name: &str, test: impl FnOnce()) {
    if env::var_os(CHILD).is_some() {
        return test();
    }
    let name = format!("engine::tests::failing_store::{name}");
    let output = Process::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(env::current_exe().unwrap())
        .args([name.as_str(), "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Sets the maximum size of files that this process writes.
fn limit_files(len: Option<u64>) {
    setrlimit(Resource::Fsize, Rlimit { current: len, maximum: None }).unwrap();
}

/// Size of the write-ahead log of the store in bytes. With this limit it can be overwritten but
/// cannot grow.
fn log_len(world: &World) -> u64 {
    std::fs::metadata(world.directory.path("signer/store.db-wal")).unwrap().len()
}

fn unwritten(id: &str) -> Answer {
    Answer { id: id.to_owned(), result: None, error: Some(UNWRITTEN.to_owned()) }
}

#[test]
fn a_request_has_an_error_while_the_store_fails_and_the_signer_goes_on() {
    in_child("a_request_has_an_error_while_the_store_fails_and_the_signer_goes_on", || {
        let mut world = World::new();
        let mut grants = allow("sign:1");
        grants[0].uses = Some(3);
        let client = world.paired("notes", grants);
        assert!(world.call(&client, "sign_event", &[&note(1, "a")]).result.is_some());
        // One store that cannot grow, and one that cannot even be opened again.
        for len in [log_len(&world), 0] {
            limit_files(Some(len));
            for content in ["b", "c"] {
                let answer = world.call(&client, "sign_event", &[&note(1, content)]);
                assert_eq!(answer, unwritten("r1"), "{len}");
            }
            let events = ["r7", "r8"].map(|id| client.request(world.now, id, "ping", &[]));
            let mut events = events.map(String::into_bytes);
            let outgoing = world.engine.arrive(world.now, &mut events);
            // Requests that change no record may be answered.
            for answer in client.read_all(&outgoing) {
                assert!(answer.error.is_none_or(|it| it == UNWRITTEN), "{}", answer.id);
            }
            assert_eq!(outgoing.len(), 2);
            limit_files(None);
            let answer = world.call(&client, "sign_event", &[&note(1, &len.to_string())]);
            assert!(answer.result.is_some(), "{len}: {answer:?}");
        }
        // Requests that failed were not counted and have no log line.
        let limit = Answer::error("not allowed: the limit is reached");
        assert_eq!(world.call(&client, "sign_event", &[&note(1, "d")]), limit);
        assert_eq!(world.verdicts(), ["allowed", "allowed", "allowed", "limit"]);
        assert!(matches!(world.command(Command::Verify), Ok(Reply::Verified { .. })));
        let mut world = world.restarted();
        assert_eq!(world.verdicts().len(), 4);
    });
}

#[test]
fn what_waits_stays_as_it_was_if_a_commit_fails() {
    in_child("what_waits_stays_as_it_was_if_a_commit_fails", || {
        let mut world = World::new();
        let client = world.paired("web", vec![grant(GrantEffect::Ask, "sign")]);
        let ask =
            |world: &World, id: &str| client.request(world.now, id, "sign_event", &[&note(1, id)]);
        for id in ["w1", "w2"] {
            let event = ask(&world, id);
            assert_eq!(world.send(&client, &event), []);
        }
        let waiting = |world: &mut World| match world.command(Command::Waiting { id: None }) {
            Ok(Reply::Waiting(list)) => list.iter().map(|it| it.id).collect::<Vec<_>>(),
            _ => panic!("no list"),
        };
        let before = waiting(&mut world);
        assert_eq!(before.len(), 2);
        let id = before[0];
        limit_files(Some(log_len(&world)));
        // Another request gets an error and does not wait.
        let event = ask(&world, "r3");
        assert_eq!(world.send(&client, &event), [unwritten("r3")]);
        assert_eq!(waiting(&mut world), before);
        // The same applies to one that is added and refused in the same transaction.
        let mut events =
            [ask(&world, "r4"), client.request(world.now, "r5", "logout", &[])].map(String::into);
        let outgoing = world.engine.arrive(world.now, &mut events);
        assert_eq!(client.read_all(&outgoing), [unwritten("r4"), unwritten("r5")]);
        assert_eq!(waiting(&mut world), before);
        for command in [
            Command::Approve { id, remember: None, requested: None },
            Command::Deny { id, remember: Some(crate::control::Remember { lifetime: None }) },
            Command::Revoke { app: "web".to_owned() },
        ] {
            let request = Request { command, secret: Zeroizing::new(Vec::new()) };
            let (reply, outgoing) = world.engine.command(world.now, request);
            assert!(matches!(reply, Err(CommandError::Store(_))));
            assert!(outgoing.is_empty());
            assert_eq!(waiting(&mut world), before);
        }
        limit_files(None);
        assert_eq!(world.rules("web").len(), 1);
        let command = Command::Approve { id, remember: None, requested: None };
        let request = Request { command, secret: Zeroizing::new(Vec::new()) };
        let (reply, outgoing) = world.engine.command(world.now, request);
        assert!(matches!(reply, Ok(Reply::Done)));
        let answers = client.read_all(&outgoing);
        assert!(answers[0].id == "w1" && answers[0].result.is_some());
        // A request that times out while the store fails gets an error.
        limit_files(Some(log_len(&world)));
        world.now += 60;
        let outgoing = world.engine.tick(world.now);
        assert_eq!(client.read_all(&outgoing), [unwritten("w2")]);
        assert!(waiting(&mut world).is_empty());
    });
}

#[test]
fn a_lock_and_an_unlock_without_their_line_say_so() {
    in_child("a_lock_and_an_unlock_without_their_line_say_so", || {
        let mut world = World::new();
        let client = world.paired("notes", allow("sign"));
        let unlock = |world: &mut World| {
            let secret = Zeroizing::new(PASSPHRASE.as_bytes().to_vec());
            world.engine.command(world.now, Request { command: Command::Unlock, secret }).0
        };
        limit_files(Some(log_len(&world)));
        assert!(matches!(world.command(Command::Lock), Err(CommandError::Store(_))));
        // It is locked nevertheless, and stays locked.
        assert!(matches!(unlock(&mut world), Err(CommandError::Store(_))));
        limit_files(None);
        let locked = Answer::error("the signer is locked");
        assert_eq!(world.call(&client, "sign_event", &[&note(1, "x")]), locked);
        assert!(unlock(&mut world).is_ok());
        assert!(world.call(&client, "sign_event", &[&note(1, "x")]).result.is_some());
        let matters: Vec<_> = world.lines().into_iter().map(|line| line.matter).collect();
        assert_eq!(matters[matters.len() - 2..], ["unlocked", "request"]);
    });
}

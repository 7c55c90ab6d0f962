//! A signer whose disk is full while it is running.

use std::fs;
use std::process::Command;

use endseal_testing::Scratch;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::json;

use crate::nostr_app::World;
use crate::signer::{FIRST, Owner};
use crate::signer_running::{Running, ask, invite};

/// Makes the command so that a file beyond the size limit causes an error instead of a signal.
fn without_signal(command: &Command) -> Command {
    let mut wrapped = Command::new("sh");
    wrapped.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]);
    wrapped.arg(command.get_program()).args(command.get_args());
    wrapped.current_dir(command.get_current_dir().unwrap());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    wrapped
}

#[test]
fn a_full_medium_is_told_to_apps_and_loses_nothing() {
    let (scratch, world) = (Scratch::new(), World::new());
    let alice = Owner::new(&scratch, &world.url());
    let signer = Running::of(without_signal(&alice.command(&["run", "--log", "off"])));
    let limit = |len: Option<u64>| {
        let pid = Pid::from_raw(signer.id().cast_signed());
        prlimit(pid, Resource::Fsize, Rlimit { current: len, maximum: None }).unwrap();
    };
    let mut app = invite(&alice, &world, &["--allow", "sign:1", "--count", "100"]);
    assert_eq!(app.sign(1), FIRST);
    for _ in 0..2 {
        let log = fs::metadata(scratch.path("alice/signer/store.db-wal")).unwrap();
        limit(Some(log.len()));
        for _ in 0..3 {
            assert_eq!(app.sign(1), "the signer cannot write");
        }
        ask(&alice, &["grant", "mail", "--allow", "sign:7"]).fails(3, "could not be written");
        let answer = app.ask("ping", &json!([]));
        assert!(answer["result"] == "pong" || answer["error"] == "the signer cannot write");
        limit(None);
        assert_eq!(app.sign(1), FIRST);
    }
    drop(signer);
    let _signer = Running::start(&alice, &[]);
    assert_eq!(app.sign(1), FIRST);
    let apps = ask(&alice, &["--json", "apps"]).ok().json();
    let rules = apps["apps"][0]["rules"].as_array().unwrap();
    assert_eq!((rules.len(), &rules[0]["used"]), (1, &4.into()));
    let log = ask(&alice, &["log"]).ok();
    assert_eq!(log.text().matches("sign_event  kind 1  allowed").count(), 4, "{}", log.text());
    ask(&alice, &["log", "--verify"]).ok();
}

//! The store of a device, and the processes that use it.

use std::io::Write as _;
use std::process::Stdio;

use endseal_testing::Scratch;

use crate::people::Person;

#[test]
fn without_a_store_nothing_is_made() {
    let scratch = Scratch::new();
    let carol = Person::new("carol", &scratch);
    std::fs::remove_dir_all(scratch.path("carol/store")).unwrap();
    for args in
        [&["session", "group", "list"][..], &["say", &carol.identity(), "x"], &["store", "check"]]
    {
        carol.run(args).fails(4, "there is no store");
    }
    assert!(!scratch.has("carol/store"));
}

#[test]
fn one_process_at_a_time_has_the_store() {
    let scratch = Scratch::new();
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    alice.knows(&bob);
    let mut child = alice.command(&["say", "bob", "-", "--lines"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // This is more than the pipe holds: the process has started to read, and has the store open.
    let line = [b'x'; 99];
    (0..4_000).for_each(|_| stdin.write_all(&[&line[..], b"\n"].concat()).unwrap());
    let now = ["session", "--wait", "0s", "group", "list"];
    let ran = alice.run(&now).fails(3, "cannot open the store");
    assert!(ran.err.contains("another process has the store open"), "{}", ran.err);
    assert!(ran.err.contains("--wait"), "{}", ran.err);
    // Without the option a command waits, as people who run two of them expect.
    let waiting = alice.command(&["session", "group", "list"]).stdout(Stdio::null()).spawn();
    drop(stdin);
    assert!(waiting.unwrap().wait().unwrap().success());
    assert!(child.wait().unwrap().success());
}

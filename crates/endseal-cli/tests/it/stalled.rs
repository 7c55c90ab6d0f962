//! A listener that makes no progress.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;

use endseal_testing::Scratch;

use crate::listener::Listener;
use crate::people::Person;

/// Stops the listener like ^Z: its connections do not answer any more.
fn freeze(listener: &Listener) {
    let pid = listener.id().to_string();
    assert!(Command::new("kill").args(["-STOP", &pid]).status().unwrap().success());
}

#[test]
fn a_listener_that_freezes_in_the_middle_is_given_up() {
    let scratch = Scratch::new();
    let [alice, bob] = Person::two_peers(&scratch);
    for args in [&["--name", "half"][..], &["--lines"]] {
        let listener = Listener::start(&bob, &["--dir", "inbox"]);
        let mut sender = alice
            .command(&[&["send", &listener.address, "--idle", "1s"], args].concat())
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = sender.stdin.take().unwrap();
        let line = b"sixty-four bytes of a line that is a message, or a part of a file\n";
        stdin.write_all(&line.repeat(1_000)).unwrap();
        freeze(&listener);
        // More than is read ahead and than the windows hold. The thread ends when the pipe is
        // closed.
        let more = thread::spawn(move || drop(stdin.write_all(&line.repeat(200_000))));
        let sender = sender.wait_with_output().unwrap();
        more.join().unwrap();
        let err = String::from_utf8(sender.stderr).unwrap();
        assert_eq!(sender.status.code(), Some(3), "{err}");
        assert!(err.contains("the peer makes no progress") && err.contains("--idle"), "{err}");
    }
}

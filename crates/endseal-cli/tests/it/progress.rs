//! Tests of progress on a terminal.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt as _;
use std::process::{Command, Stdio};
use std::thread;

use endseal_testing::Scratch;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::people::Person;

/// Runs a command whose standard output or standard error is a terminal. Returns the bytes that the
/// terminal received.
pub(crate) fn on_a_terminal(mut command: Command, is_output: bool) -> String {
    let own = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&own).unwrap();
    unlockpt(&own).unwrap();
    let name = ptsname(&own, Vec::new()).unwrap().into_bytes();
    let name = std::ffi::OsString::from_vec(name);
    let terminal = OpenOptions::new().read(true).write(true).open(name).unwrap();
    command.env("TERM", "xterm");
    match is_output {
        true => command.stdout(terminal.try_clone().unwrap()).stderr(Stdio::null()),
        false => command.stdout(Stdio::null()).stderr(terminal.try_clone().unwrap()),
    };
    let mut child = command.spawn().unwrap();
    // The command holds the terminal open too.
    drop(command);
    let reader = thread::spawn(move || {
        let (mut own, mut got) = (File::from(own), Vec::new());
        let mut piece = [0; 4096];
        // Reading fails after the last process has closed the terminal.
        while let Ok(len @ 1..) = own.read(&mut piece) {
            got.extend_from_slice(&piece[..len]);
        }
        got
    });
    assert!(child.wait().unwrap().success());
    drop(terminal);
    String::from_utf8_lossy(&reader.join().unwrap()).into_owned()
}

#[test]
fn long_work_on_the_store_shows_that_it_goes_on() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    for (args, is_shown) in [
        (&["store", "check"][..], true),
        (&["store", "check", "--read-data"], true),
        (&["store", "check", "--quiet"], false),
        (&["store", "check", "--json"], false),
    ] {
        let told = on_a_terminal(bob.command(args), false);
        assert_eq!(told.contains("checking"), is_shown, "{args:?}: {told:?}");
    }
}

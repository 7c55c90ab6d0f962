//! Either side is killed around the end of a transfer. The file is then complete or absent, and the
//! transfer can be repeated.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread::{self, sleep};

use core::time::Duration;

use endseal_testing::Scratch;

use crate::listener::Listener;
use crate::people::{Person, Ran};

const CONTENT: &[u8] = &[0x65; 3_000];
/// Options with short timeouts, for a receiver that is gone.
const HASTY: [&str; 4] = ["--timeout", "2s", "--idle", "1s"];
/// Options with long timeouts, which a transfer does not exceed on a busy machine.
const PATIENT: [&str; 4] = ["--timeout", "60s", "--idle", "30s"];
/// More calls than a transfer of this content makes.
const MANY: usize = 200;
/// Transfers that run concurrently, because most of their time is waiting.
const AT_ONCE: usize = 10;

/// Compiles `kill_at.c`, a library that kills its process at a chosen call.
pub(crate) fn shim(scratch: &Scratch) -> PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/kill_at.c");
    let library = scratch.path("kill_at.so");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]).arg(&library).arg(source);
    let Output { status, stderr, .. } = cc.arg("-ldl").output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    library
}

/// Sender and receiver of one transfer, independent of the others so that they can run at the same
/// time.
struct Scene {
    scratch: Scratch,
    shim: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let scratch = Scratch::new();
        let shim = shim(&scratch);
        scratch.write("file", CONTENT);
        Self { scratch, shim }
    }

    fn dying(&self, mut command: Command, moment: &str, without: &str) -> Command {
        command.env("LD_PRELOAD", &self.shim).env("KILL_AT", moment).env("WITHOUT", without);
        command
    }

    /// Returns true if the file exists. It must then be complete.
    #[track_caller]
    fn is_there(&self, moment: &str) -> bool {
        let there = self.scratch.has("inbox/file");
        assert!(!there || self.scratch.read("inbox/file") == CONTENT, "{moment}: not whole");
        there
    }

    /// Counts the temporary files that a receiver left.
    fn left(&self) -> usize {
        let entries = fs::read_dir(self.scratch.path("inbox")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let others: Vec<_> = names.filter(|name| name != "file").collect();
        assert!(others.iter().all(|name| name.starts_with(".endseal-")), "{others:?}");
        others.len()
    }

    /// Repeats the transfer, which stores the file or leaves an existing one.
    #[track_caller]
    fn repeat(&self, alice: &Person<'_>, at: &str, moment: &str) {
        let was_there = self.is_there(moment);
        let again = alice.run(&["send", at, "file"]);
        if was_there {
            again.fails(1, "the peer refuses the file");
            alice.run(&["send", at, "file", "--name", "other"]).ok();
            assert!(self.scratch.read("inbox/other") == CONTENT);
        } else {
            again.ok();
        }
        assert!(self.is_there(moment), "{moment}");
    }
}

/// Result of a transfer in which the receiver should be killed.
#[derive(Debug, PartialEq)]
struct Fate {
    /// True if the receiver was killed; false if it made fewer calls.
    died: bool,
    /// True if the receiver confirmed to the sender that the file is stored.
    told: bool,
    there: bool,
    left: usize,
}

fn receiver_dies(moment: &str, without: &str) -> Fate {
    let fate = receiver_dies_within(&HASTY, moment, without);
    // The sender gave up before the receiver reached that moment, so that this proves nothing.
    if !fate.died && !fate.told { receiver_dies_within(&PATIENT, moment, without) } else { fate }
}

fn receiver_dies_within(limits: &[&str], moment: &str, without: &str) -> Fate {
    let scene = Scene::new();
    let [alice, bob] = Person::two_peers(&scene.scratch);
    let args = ["listen", "--listen", "127.0.0.1:0", "--dir", "inbox"];
    let mut listener = Listener::of(scene.dying(bob.command(&args), moment, without));
    let ran: Ran = alice.run(&[&["send", &listener.address, "file"][..], limits].concat());
    let told = ran.code == 0;
    if !told {
        // The command fails with a reason, and does not hang.
        assert_eq!(ran.code, 3, "{moment}: {}", ran.err);
    }
    listener.interrupt_if_alive();
    let died = listener.end().0.is_none();
    let fate = Fate { died, told, there: scene.is_there(moment), left: scene.left() };
    assert!(fate.there || !fate.told, "{moment}: what was told is true");
    let listener = Listener::start(&bob, &["--dir", "inbox"]);
    scene.repeat(&alice, &listener.address, moment);
    fate
}

/// Runs the transfers of all moments concurrently.
fn each<T: Send>(
    moments: impl IntoIterator<Item = String>,
    play: impl Fn(&str) -> T + Sync,
) -> Vec<T> {
    thread::scope(|scope| {
        let play = &play;
        let moments = moments.into_iter();
        let playing: Vec<_> = moments.map(|moment| scope.spawn(move || play(&moment))).collect();
        playing.into_iter().map(|scene| scene.join().unwrap()).collect()
    })
}

const fn fate(there: bool, left: usize) -> Fate {
    Fate { died: true, told: false, there, left }
}

#[test]
fn a_receiver_that_dies_beside_the_name_leaves_all_or_nothing() {
    // Content received but not fsynced; fsynced but without a name; named; and the folder fsynced
    // but the sender not informed.
    let moments = ["fsync:1:before", "fsync:1:after", "fsync:2:before", "fsync:2:after"];
    let fates = each(moments.map(String::from), |moment| receiver_dies(moment, ""));
    assert_eq!(fates, [fate(false, 0), fate(false, 0), fate(true, 0), fate(true, 0)]);
}

#[test]
fn so_does_one_whose_file_system_knows_no_files_without_a_name() {
    let moments = [
        ("fsync:1:before", fate(false, 1)),
        ("linkat:1:before", fate(false, 1)),
        ("linkat:1:after", fate(true, 1)),
        ("fsync:2:before", fate(true, 1)),
        ("fsync:2:after", fate(true, 1)),
        // The temporary name was removed.
        ("unlink:1:after", fate(true, 0)),
    ];
    let (moments, expected): (Vec<_>, Vec<_>) = moments.into_iter().unzip();
    let moments = moments.into_iter().map(String::from);
    assert_eq!(each(moments, |moment| receiver_dies(moment, "unnamed")), expected);
}

#[test]
fn so_does_one_whose_file_system_knows_no_links_either() {
    let moments = ["fsync:1:before", "linkat:1:before", "fsync:2:before"];
    let fates = each(moments.map(String::from), |moment| receiver_dies(moment, "unnamed,links"));
    assert_eq!(fates, [fate(false, 1), fate(false, 1), fate(true, 0)]);
}

/// The second fsync is that of the folder: the file is complete, but its name is not durable.
#[test]
fn a_receiver_whose_folder_cannot_be_synced_does_not_say_stored() {
    for (without, failing) in [("", "fsync:1"), ("", "fsync:2"), ("unnamed", "fsync:2")] {
        let scene = Scene::new();
        let [alice, bob] = Person::two_peers(&scene.scratch);
        let args = ["listen", "--listen", "127.0.0.1:0", "--dir", "inbox"];
        let mut command = scene.dying(bob.command(&args), "", without);
        command.env("FAIL", failing);
        let mut listener = Listener::of(command);
        let ran = alice.run(&["send", &listener.address, "file"]);
        ran.fails(3, "the peer could not store the file");
        assert!(!scene.is_there(failing) && scene.left() == 0, "{failing}: nothing is left");
        // The listener continues, and the sender may try again.
        alice.run(&["send", &listener.address, "file"]).ok();
        assert!(scene.is_there(failing));
        listener.interrupt();
        let (code, _, err) = listener.end();
        assert_eq!(code, Some(0));
        assert!(err.contains("cannot write 'inbox/file'"), "{err}");
    }
}

/// Kills a process at every datagram that it sends, until it sends no more.
fn at_any_datagram<T: Send>(
    play: impl Fn(&str) -> T + Sync,
    survived: impl Fn(&T) -> bool,
) -> Vec<T> {
    let mut fates = Vec::new();
    for first in (1..MANY).step_by(AT_ONCE) {
        let numbers = (first..).take(AT_ONCE);
        fates.extend(each(numbers.map(|number| format!("sendmsg:{number}:before")), &play));
        if fates.last().is_some_and(&survived) {
            return fates;
        }
    }
    panic!("more than {MANY} datagrams");
}

#[test]
fn a_receiver_may_die_at_some_datagrams() {
    let moments = [1, 3].map(|number| format!("sendmsg:{number}:before"));
    let fates = each(moments, |moment| receiver_dies(moment, ""));
    assert!(fates.iter().all(|fate| fate.died && !fate.told), "{fates:?}");
}

#[test]
#[ignore = "nightly: a transfer for each datagram, many at once"]
fn a_receiver_may_die_at_any_datagram() {
    let fates = at_any_datagram(|moment| receiver_dies(moment, ""), |fate| !fate.died);
    let seen = |died, told, there| {
        fates.iter().any(|fate| (fate.died, fate.told, fate.there) == (died, told, there))
    };
    // It is random if a datagram falls between the naming and the answer. The tests above cover
    // that moment.
    assert!(seen(true, false, false), "{fates:?}");
    assert!(seen(false, true, true), "{fates:?}");
}

/// Returns the sender's exit code, and true if the file exists.
fn sender_dies(moment: &str) -> (Option<i32>, bool) {
    let scene = Scene::new();
    let [alice, bob] = Person::two_peers(&scene.scratch);
    let listener = Listener::start(&bob, &["--dir", "inbox"]);
    let send = alice.command(&["send", &listener.address, "file"]);
    let status = scene.dying(send, moment, "").status().unwrap();
    assert!(!status.success() || scene.is_there(moment), "{moment}: what was told is true");
    // Content that was sent before the sender's end may still become a file.
    sleep(Duration::from_millis(300));
    let there = scene.is_there(moment);
    assert_eq!(scene.left(), 0);
    scene.repeat(&alice, &listener.address, moment);
    (status.code(), there)
}

#[test]
fn a_sender_may_die_at_some_datagrams() {
    let moments = [1, 3].map(|number| format!("sendmsg:{number}:before"));
    let fates = each(moments, sender_dies);
    assert!(fates.iter().all(|(code, _)| code.is_none()), "{fates:?}");
}

#[test]
#[ignore = "nightly: a transfer for each datagram, many at once"]
fn a_sender_may_die_at_any_datagram() {
    // The number of datagrams is random: one pass may miss those after the last content.
    let mut fates = Vec::new();
    for _ in 0..5 {
        fates.extend(at_any_datagram(sender_dies, |(code, _)| code.is_some()));
        if fates.contains(&(None, true)) {
            break;
        }
    }
    for expected in [(None, false), (None, true), (Some(0), true)] {
        assert!(fates.contains(&expected), "{expected:?}: {fates:?}");
    }
    assert!(fates.iter().all(|(code, _)| matches!(code, None | Some(0))), "{fates:?}");
}

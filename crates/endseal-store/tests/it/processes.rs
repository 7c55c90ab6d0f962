//! Two processes with one store; a process that is killed; a medium that is full.

use core::time::Duration;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;
use std::{env, fs};

use endseal_store::{OpenOptions, OpenStoreError, Store, Unlock};

use crate::batches::{self, SLEEP};
use crate::place::{Place, open};

/// Starts a process that has the store open, in the middle of a transaction.
fn sleeper(directory: &Path) -> Child {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["batches::sleeper", "--exact", "--nocapture", "--test-threads=1"])
        .env(SLEEP, directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let found = lines.map(Result::unwrap).any(|line| line.ends_with("sleeping"));
    assert!(found, "the child ended early");
    child
}

#[test]
fn a_second_process_is_refused_or_waits_and_sees_what_was_committed() {
    let place = Place::new();
    place.create().close().unwrap();
    let mut child = sleeper(&place.store());
    let start = Instant::now();
    assert!(matches!(open(&place.store()), Err(OpenStoreError::Locked)));
    let options = OpenOptions::new().wait(Duration::from_millis(200));
    let waited = Store::open(&place.store(), Unlock::None, options);
    assert!(matches!(waited, Err(OpenStoreError::Locked)));
    assert!(start.elapsed() >= Duration::from_millis(200));

    // SIGKILL: the kernel releases the lock, and the transaction is lost.
    let waiting = thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let options = OpenOptions::new().wait(Duration::from_secs(50));
            Store::open(&place.store(), Unlock::None, options)
        });
        thread::sleep(Duration::from_millis(50));
        child.kill().unwrap();
        child.wait().unwrap();
        waiting.join().unwrap()
    });
    let mut store = waiting.unwrap();
    assert_eq!(batches::count(&mut store, 3), 1);
    assert!(store.read().unwrap().record(9, b"").unwrap().is_none());
    assert!(!store.is_restored());
}

/// Returns the bytes that this thread has read by system calls.
#[cfg(target_os = "linux")]
fn read_so_far() -> u64 {
    let io = fs::read_to_string("/proc/thread-self/io").unwrap();
    io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn opening_after_a_kill_does_not_read_the_whole_database() {
    const LARGE: u64 = 24 << 20;
    let place = Place::quick();
    let mut store = place.create();
    let transaction = store.begin().unwrap();
    for n in 0..24_u8 {
        transaction.put_record(7, &[n], &vec![n; 1 << 20]).unwrap();
    }
    transaction.commit().unwrap();
    store.close().unwrap();
    assert!(fs::metadata(place.store().join("store.db")).unwrap().len() > LARGE);
    let mut child = sleeper(&place.store());
    child.kill().unwrap();
    child.wait().unwrap();
    let log = fs::metadata(place.store().join("store.db-wal")).unwrap().len();
    assert!(log > 0, "there was a log to be taken in");
    let before = read_so_far();
    let store = place.open();
    let read = read_so_far() - before;
    assert!(read < 1 << 20, "{read} bytes were read");
    drop(store);
}

#[test]
fn killed_again_and_again_it_keeps_what_was_promised() {
    let place = Place::new();
    place.create().close().unwrap();
    for round in 0..30_u64 {
        let before = batches::said(&place.store()).matches("batch ").count();
        let mut child = batches::command(&place.store(), 1_000_000, 20)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Each is killed at another moment; the first one must have made progress.
        let timeout = Instant::now();
        let got = || batches::said(&place.store()).matches("batch ").count() > before;
        while !got() && timeout.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_micros(round * 700));
        child.kill().unwrap();
        child.wait().unwrap();
        let said = batches::said(&place.store());
        fs::remove_file(place.path().join("ack")).unwrap();
        // Every worker counts batches from the start.
        let mut store = place.open();
        let there = batches::count(&mut store, 20);
        let promised = batches::acknowledged(&said).unwrap();
        assert!(there >= promised, "{there} of {promised}");
        store.close().unwrap();
        fs::remove_dir_all(place.store()).unwrap();
        place.create().close().unwrap();
    }
}

/// A limit of the file size stands in for a full medium. Its error is EFBIG.
#[test]
fn a_file_that_may_not_grow_leaves_whole_batches() {
    for blocks in [1, 50, 150, 300, 600, 900] {
        let place = Place::new();
        place.create().close().unwrap();
        let worker = batches::command(&place.store(), 50, 200);
        let mut shell = Command::new("sh");
        // A block has 512 bytes. The signal is ignored, so that the write fails instead.
        shell.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\""), "sh"]);
        shell.arg(worker.get_program()).args(worker.get_args());
        shell.envs(worker.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = shell.output().unwrap();
        let said = batches::said(&place.store());
        let context = format!("{blocks}: {said}{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(batches::GAVE_UP), "{context}");
        let mut store = place.open();
        let there = batches::count(&mut store, 200);
        assert!(there >= batches::acknowledged(&said).unwrap_or(0), "{context}");
        batches::write(&mut store, there, 200).unwrap();
        store.close().unwrap();
    }
}

//! Durability of transactions without an fsync of their own.

use std::fs::{File, OpenOptions as FileOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::{env, fs, process};

use endseal_store::{OpenOptions, Store, StoreError, Unlock};

use crate::faults::{Action, Fault, Kind, Medium, Shim, read_log};
use crate::place::Place;

/// Environment variable of a worker: its case and the store.
const WORK: &str = "ENDSEAL_STORE_TEST_DURABILITY";

/// The worker: this test binary as a child process; without the variable it does nothing. It writes
/// without an fsync, makes that durable as its case demands, and then reports it.
#[test]
fn worker() {
    let Ok(work) = env::var(WORK) else { return };
    let (case, directory) = work.split_once(' ').unwrap();
    let directory = Path::new(directory);
    let ack = directory.parent().unwrap().join("ack");
    let mut ack = FileOptions::new().create(true).append(true).open(ack).unwrap();
    let mut store = Store::open(directory, Unlock::None, OpenOptions::new()).unwrap();
    let transaction = store.begin_unsynced().unwrap();
    transaction.put_record(9, b"a", &[1; 6_000]).unwrap();
    transaction.commit().unwrap();
    if make_durable(case, &mut store, &mut ack).is_ok() {
        ack.write_all(b"durable\n").unwrap();
    }
    // Ends as if it were killed, because closing makes everything durable.
    process::exit(0);
}

fn make_durable(case: &str, store: &mut Store, ack: &mut File) -> Result<(), StoreError> {
    match case {
        "sync" => store.sync(),
        "begin" => {
            let transaction = store.begin()?;
            assert!(transaction.record(9, b"a")?.is_some());
            transaction.commit()
        }
        "checkpoint" => {
            if store.checkpoint().is_err() {
                ack.write_all(b"failed\n").unwrap();
                if store.is_uncertain() {
                    assert!(matches!(store.sync(), Err(StoreError::Uncertain)));
                    store.reopen().unwrap();
                }
            }
            store.sync()
        }
        other => panic!("{other}"),
    }
}

fn command(case: &str, place: &Place) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["durability::worker", "--exact", "--nocapture", "--test-threads=1"]);
    command.env(WORK, format!("{case} {}", place.store().display()));
    command
}

/// Cuts the power when the worker reports that its record is durable; of the changes without an
/// fsync the medium keeps none, all, or some. Returns true if the worker reported it.
fn cut(place: &Place, log: &Path, mut medium: Medium) -> bool {
    let mut durable = false;
    for action in read_log(log) {
        medium.apply(&action);
        let Action::Ack(line) = &action else { continue };
        if !line.starts_with(b"durable") {
            continue;
        }
        durable = true;
        for way in 0..5 {
            let left = Place::quick();
            let left = left.path().join("cut");
            medium.cut(place.path(), &left, &mut |below| if below == 5 { way } else { 0 });
            let mut store =
                Store::open(&left.join("store"), Unlock::None, OpenOptions::new()).unwrap();
            let record = store.read().unwrap().record(9, b"a").unwrap();
            assert!(record.is_some(), "lost in a power cut: {way}");
            assert!(!store.is_restored());
        }
    }
    durable
}

/// A `lock` with the largest number: the numbers that commits write no longer increase.
const LAST: [u8; 8] = [0xff; 8];

#[test]
fn a_sync_makes_unsynced_commits_durable() {
    let shim = Shim::compile();
    for case in ["sync", "begin"] {
        for lock in [None, Some(LAST)] {
            let (place, logs) = (Place::quick(), Place::quick());
            place.create().close().unwrap();
            if let Some(lock) = lock {
                fs::write(place.store().join("lock"), lock).unwrap();
            }
            let log = logs.path().join("log");
            let medium = Medium::of(place.path());
            let output = shim.record(&mut command(case, &place), place.path(), &log);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert!(cut(&place, &log, medium), "{case}: it said nothing");
        }
    }
}

/// An fsync fails in a checkpoint, and the next one of the same file succeeds, although the kernel
/// has dropped the pages that it could not write.
#[test]
fn a_sync_after_a_checkpoint_that_failed_makes_unsynced_commits_durable() {
    let shim = Shim::compile();
    let mut failed = 0;
    for at in 1..20 {
        let (place, logs) = (Place::quick(), Place::quick());
        place.create().close().unwrap();
        let log = logs.path().join("log");
        let medium = Medium::of(place.path());
        let fault = Fault { at, kind: Kind::Sync, errno: Fault::EIO, sticky: false };
        let mut worker = command("checkpoint", &place);
        shim.fail_and_record(&mut worker, place.path(), fault, &log);
        let durable = cut(&place, &log, medium);
        let said = fs::read_to_string(place.path().join("ack")).unwrap_or_default();
        if said.contains("failed") {
            failed += 1;
            assert!(durable, "{at}: {said}");
        }
    }
    assert!(failed > 0, "the shim sees nothing");
}

//! Media faults and power cuts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use endseal_store::{OpenOptions, OpenStoreError, Store, Unlock};
use endseal_testing::SplitMix64;

use crate::batches::{
    GAVE_UP, acknowledged, busy_command, command, count, met_damage, said, write,
};
use crate::faults::{Action, Fault, Kind, Medium, Shim, WAYS, read_log};
use crate::place::Place;

const LEN: u64 = 200;

/// Operations that fail during a run of the workload; each failure has a run of its own.
#[derive(Clone, Copy)]
enum Which {
    Each,
    /// One in this number of operations.
    Some(usize),
}

impl Which {
    /// One in ten operations, which takes seconds instead of minutes.
    const FEW: Self = Self::Some(10);
}

/// Fails writes during a run.
fn fail_writes(which: Which) {
    fail(LEN, which, |at| Fault { at, kind: Kind::Write, errno: Fault::EIO, sticky: false });
}

/// Fills the medium at a write, and frees space again.
fn fill_and_free(which: Which) {
    fail(LEN, which, |at| Fault { at, kind: Kind::Write, errno: Fault::ENOSPC, sticky: false });
}

/// Fills the medium from a write on.
fn fill(which: Which) {
    fail(LEN, which, |at| Fault { at, kind: Kind::Write, errno: Fault::ENOSPC, sticky: true });
}

/// Fails fsyncs during a run: one, or one and all later ones.
fn fail_fsyncs(which: Which) {
    for sticky in [false, true] {
        fail(LEN, which, |at| Fault { at, kind: Kind::Sync, errno: Fault::EIO, sticky });
    }
}

/// Removes the medium after an operation.
fn lose_the_medium(which: Which) {
    fail(LEN, which, |at| Fault { at, kind: Kind::Any, errno: Fault::EIO, sticky: true });
}

/// Fails reads, and opening and closing files.
fn fail_reads_and_openings(which: Which) {
    // SQLite reports EIO of a read as damage, and other errors as errors of the medium.
    for (kind, errno) in [
        (Kind::Read, Fault::EIO),
        (Kind::Read, Fault::ESTALE),
        (Kind::Open, Fault::EMFILE),
        (Kind::Close, Fault::EIO),
    ] {
        fail(LEN, which, |at| Fault { at, kind, errno, sticky: false });
    }
}

/// From an operation on everything fails, reads included.
fn answer_nothing(which: Which) {
    fail(LEN, which, |at| Fault { at, kind: Kind::All, errno: Fault::EIO, sticky: true });
}

/// Refuses memory to SQLite, once or from then on.
fn fail_allocations(which: [Which; 2]) {
    for (sticky, which) in [false, true].into_iter().zip(which) {
        fail(20, which, |at| Fault { at, kind: Kind::Memory, errno: Fault::ENOMEM, sticky });
    }
}

#[test]
fn a_failed_write_leaves_whole_batches_and_what_was_promised() {
    fail_writes(Which::FEW);
}

#[test]
#[ignore = "nightly: a process for each operation of a store's life takes minutes"]
fn any_failed_write_leaves_whole_batches_and_what_was_promised() {
    fail_writes(Which::Each);
}

#[test]
fn a_medium_that_was_full_leaves_whole_batches_and_what_was_promised() {
    fill_and_free(Which::FEW);
}

#[test]
#[ignore = "nightly: a process for each operation of a store's life takes minutes"]
fn a_medium_that_was_full_at_any_write_leaves_whole_batches() {
    fill_and_free(Which::Each);
}

#[test]
fn a_full_medium_leaves_whole_batches_and_what_was_promised() {
    fill(Which::FEW);
}

#[test]
#[ignore = "nightly: a process for each operation of a store's life takes minutes"]
fn a_medium_that_is_full_from_any_write_on_leaves_whole_batches() {
    fill(Which::Each);
}

#[test]
fn a_failed_fsync_leaves_whole_batches_and_what_was_promised() {
    fail_fsyncs(Which::Some(4));
}

#[test]
#[ignore = "nightly: a process for each operation of a store's life takes minutes"]
fn any_failed_fsync_leaves_whole_batches_and_what_was_promised() {
    fail_fsyncs(Which::Each);
}

#[test]
fn a_medium_that_is_gone_leaves_whole_batches_and_what_was_promised() {
    lose_the_medium(Which::Some(20));
}

#[test]
#[ignore = "nightly: a process for each operation of a store's life takes minutes"]
fn a_medium_that_is_gone_at_any_operation_leaves_whole_batches() {
    lose_the_medium(Which::Each);
}

#[test]
fn a_failed_read_or_opening_leaves_whole_batches_and_what_was_promised() {
    fail_reads_and_openings(Which::FEW);
}

#[test]
#[ignore = "nightly: a process for each operation of a store's life takes minutes"]
fn any_failed_read_or_opening_leaves_whole_batches_and_what_was_promised() {
    fail_reads_and_openings(Which::Each);
}

#[test]
fn a_medium_that_answers_nothing_leaves_whole_batches_and_what_was_promised() {
    answer_nothing(Which::Some(41));
}

#[test]
#[ignore = "nightly: a process for each operation of a store's life takes minutes"]
fn a_medium_that_answers_nothing_from_any_operation_on_leaves_whole_batches() {
    answer_nothing(Which::Each);
}

#[test]
fn an_allocation_that_fails_leaves_whole_batches_and_what_was_promised() {
    fail_allocations([Which::Some(211), Which::Some(419)]);
}

#[test]
#[ignore = "nightly: a process for each operation of a store's life takes minutes"]
fn any_allocation_that_fails_leaves_whole_batches_and_what_was_promised() {
    fail_allocations([Which::Each; 2]);
}

/// Writes fail and media are full while many messages are sorted in.
#[test]
#[ignore = "nightly: sorting in many messages a dozen times takes half a minute"]
fn a_failure_in_sorting_in_leaves_whole_batches_and_what_was_promised() {
    for (errno, begin) in [(Fault::EIO, 1), (Fault::ENOSPC, 80)] {
        let fault = |at| Fault { at, kind: Kind::Write, errno, sticky: false };
        fail_some(16_500, (begin..).step_by(149), fault);
    }
}

/// Runs the workload for each operation that fails, up to the last one.
fn fail(len: u64, which: Which, fault: impl Fn(u64) -> Fault) {
    match which {
        Which::Each => fail_some(len, 1.., fault),
        Which::Some(step) => fail_some(len, (3..).step_by(step), fault),
    }
}

/// Runs the workload with one batch of `len` messages for each operation that fails, up to the last
/// one.
fn fail_some(len: u64, operations: impl Iterator<Item = u64>, fault: impl Fn(u64) -> Fault) {
    let shim = Shim::compile();
    const BATCHES: u64 = 1;
    for at in operations {
        let fault = fault(at);
        // The shim watches the directory by its name, so the name must be that of the place.
        let place = Place::quick();
        let count_file = Place::quick();
        let mut worker = command(&place.store(), BATCHES, len);
        let (output, counted) =
            shim.fail(&mut worker, place.path(), fault, &count_file.path().join("count"));
        let said = said(&place.store());
        let end = output.status.code();
        let lock = fs::read(place.store().join("lock")).unwrap_or_default();
        let context = format!("{fault:?}, {said:?}, {}", String::from_utf8_lossy(&output.stderr));
        // Only EIO of a read may be reported as damage.
        let reads = matches!(fault.kind, Kind::Read | Kind::All) && fault.errno == Fault::EIO;
        assert!(reads || !met_damage(&said) && lock.get(8) != Some(&1), "{context}");
        assert!(end == Some(0) || end == Some(GAVE_UP), "{end:?}: {context}");
        if !fault.sticky {
            // Every operation is retried once, except for closing, and for the initialisation of
            // SQLCipher, without whose memory there is no store.
            let done = acknowledged(&said).is_some_and(|batches| batches == BATCHES);
            let has_no_library = matches!(fault.kind, Kind::Memory) && said.is_empty();
            assert!(done || has_no_library, "{context}");
        }
        match Store::open(&place.store(), Unlock::None, OpenOptions::new()) {
            Ok(mut store) => {
                let there = count(&mut store, len);
                assert!(there >= acknowledged(&said).unwrap_or(0), "{there}: {context}");
                assert!(!store.is_restored(), "{context}");
                write(&mut store, there, len).unwrap();
            }
            Err(error) => {
                assert!(matches!(error, OpenStoreError::Missing), "{error:?}: {context}");
                assert_eq!(acknowledged(&said), None, "{context}");
            }
        }
        if counted < at {
            assert!(at > 10, "{counted} operations: the shim sees nothing");
            return;
        }
    }
}

/// Cuts the power after every action of a run on the medium.
#[test]
fn power_cuts_leave_whole_batches_and_what_was_promised() {
    cut_each(1, LEN, command);
}

/// The same with transactions that start with a log and recent messages above their limits:
/// maintenance before them makes its results durable.
#[test]
fn power_cuts_after_housekeeping_leave_what_was_promised() {
    cut_each(1, 30, busy_command);
}

#[test]
#[ignore = "nightly: four outcomes of each power cut take half a minute"]
fn each_power_cut_leaves_whole_batches_whatever_the_medium_keeps() {
    cut_each(4, LEN, command);
    cut_each(4, 30, busy_command);
}

/// Cuts the power after each action, with this number of choices of the changes that the medium
/// keeps.
fn cut_each(choices: u64, len: u64, command: fn(&Path, u64, u64) -> Command) {
    let batches = 6;
    let shim = Shim::compile();
    let place = Place::quick();
    let log = Place::quick();
    let log = log.path().join("log");
    let before = Medium::of(place.path());
    let output = shim.record(&mut command(&place.store(), batches, len), place.path(), &log);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let actions = read_log(&log);
    let is_sync = |action: &&Action| matches!(action, Action::Sync { .. });
    assert!(actions.iter().filter(is_sync).count() as u64 > batches, "the shim sees nothing");

    let (mut medium, mut said, mut dice) = (before, String::new(), SplitMix64::new(1));
    let mut cuts = [0_u64; 2];
    for (i, action) in actions.iter().enumerate() {
        medium.apply(action);
        if let Action::Ack(line) = action {
            said.push_str(core::str::from_utf8(line).unwrap());
        }
        for seed in 0..choices {
            let left = Place::quick();
            medium.cut(place.path(), &left.path().join("cut"), &mut |below| dice.below(below));
            let store = left.path().join("cut/store");
            let promised = acknowledged(&said);
            let context = format!("after {i} of {}, {seed}, {promised:?}", actions.len());
            let opened = open_cut(&store, len, promised, &context);
            cuts[usize::from(opened)] += 1;
        }
    }
    // There were cuts both before the store existed and after.
    assert!(cuts[0] > 2 * choices && cuts[1] > 25 * choices, "{cuts:?}");
}

/// An fsync fails, and the store is reopened and reads pages from the kernel's memory that the
/// medium never got; then the power is cut.
#[test]
fn what_a_failed_fsync_left_in_memory_alone_is_not_promised() {
    cut_after_failed_fsyncs(4);
}

#[test]
#[ignore = "nightly: a process and power cuts for each fsync"]
fn what_any_failed_fsync_left_in_memory_alone_is_not_promised() {
    cut_after_failed_fsyncs(1);
}

/// Fails every `step`th fsync of a run.
fn cut_after_failed_fsyncs(step: usize) {
    let shim = Shim::compile();
    let mut dice = SplitMix64::new(5);
    for at in (1..).step_by(step) {
        let (place, logs) = (Place::quick(), Place::quick());
        let log = logs.path().join("log");
        let mut medium = Medium::of(place.path());
        let fault = Fault { at, kind: Kind::Sync, errno: Fault::EIO, sticky: false };
        let mut worker = command(&place.store(), 3, 50);
        let output = shim.fail_and_record(&mut worker, place.path(), fault, &log);
        assert!(output.status.code() == Some(0) || output.status.code() == Some(GAVE_UP));
        let (mut said, mut failed) = (String::new(), false);
        for action in read_log(&log) {
            medium.apply(&action);
            failed |= matches!(action, Action::FailedSync { .. });
            let Action::Ack(line) = action else { continue };
            said.push_str(core::str::from_utf8(&line).unwrap());
            let left = Place::quick();
            medium.cut(place.path(), &left.path().join("cut"), &mut |below| dice.below(below));
            let store = left.path().join("cut/store");
            let mut store = Store::open(&store, Unlock::None, OpenOptions::new()).unwrap();
            let there = count(&mut store, 50);
            assert!(there >= acknowledged(&said).unwrap(), "{there}: {fault:?}, {said}");
        }
        if !failed {
            assert!(at > 10, "{at}: the shim sees nothing");
            return;
        }
    }
}

/// Opens the store after a power cut and checks it. Returns true if there was a store.
fn open_cut(directory: &Path, len: u64, promised: Option<u64>, context: &str) -> bool {
    match Store::open(directory, Unlock::None, OpenOptions::new()) {
        Ok(mut store) => {
            let there = count(&mut store, len);
            assert!(there >= promised.unwrap_or(0), "{there}: {context}");
            assert!(!store.is_restored(), "{context}");
            // The store can still be written to.
            write(&mut store, there, len).unwrap();
            store.close().unwrap();
            true
        }
        Err(error) => {
            assert!(matches!(error, OpenStoreError::Missing), "{error:?}: {context}");
            assert_eq!(promised, None, "{context}");
            false
        }
    }
}

/// Without a power cut the model must have the same contents as the directory.
#[test]
fn the_model_of_the_medium_is_that_of_the_system() {
    let shim = Shim::compile();
    let place = Place::quick();
    let log = Place::quick();
    let log = log.path().join("log");
    let mut medium = Medium::of(place.path());
    let output = shim.record(&mut command(&place.store(), 2, LEN), place.path(), &log);
    assert_eq!(output.status.code(), Some(0));
    read_log(&log).iter().for_each(|action| medium.apply(action));
    let left = Place::quick();
    // The highest number keeps all changes of names; 0 keeps all writes.
    medium.cut(place.path(), left.path(), &mut |below| if below == WAYS { 0 } else { below - 1 });
    let files =
        ["store.db", "store.db-wal", "key", "lock"].map(|name| PathBuf::from("store").join(name));
    for file in files {
        let read = |place: &Place| fs::read(place.path().join(&file)).unwrap();
        assert!(read(&place) == read(&left), "{}", file.display());
    }
}

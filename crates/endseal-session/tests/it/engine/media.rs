//! Failing media and power cuts during a batch.

use core::time::Duration;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;

use endseal_session::olm::OlmAccount;
use endseal_session::{BatchOptions, Durability, Engine, EngineError};
use endseal_store::{OpenOptions, OpenStoreError, Store, StoreError, Unlock};
use endseal_testing::SplitMix64;

use super::party::{Party, Place, copy};
use super::worker::{GAVE_UP, Said, Work};
use super::world::{Mail, World};
use crate::faults::{Action, Fault, Kind, Medium, Shim, WAYS, read_log};

const LEN: usize = 200;
/// Length of a database page, in bytes.
const PAGE: usize = 4_096;

/// A store with a backlog to decrypt.
struct Case {
    world: World,
    mails: Vec<Mail>,
    template: Place,
    shim: Shim,
}

impl Case {
    fn new() -> Self {
        let mut world = World::new(7);
        let mails = world.mails(LEN);
        let template = Place::new();
        // The store is closed, so that the copy is consistent.
        world.reader.restart();
        world.reader.engine.take().unwrap().into_store().close().unwrap();
        copy(&world.reader.place.store(), &template.store());
        Mail::write(&mails, &template.path().join("backlog"));
        Self { world, mails, template, shim: Shim::compile() }
    }

    fn work(&self, place: &Place, chunk: usize, threads: usize) -> Command {
        self.work_with(place, chunk, threads, Durability::EachCommit)
    }

    fn work_with(
        &self,
        place: &Place,
        chunk: usize,
        threads: usize,
        durability: Durability,
    ) -> Command {
        copy(&self.template.store(), &place.store());
        let backlog = &self.template.path().join("backlog");
        let folder = place.path();
        Work { folder, backlog, from: 0, chunk, threads, sends: true, durability }.command()
    }

    /// Runs a worker on a failing medium, and then delivers the rest of the backlog in this
    /// process. Returns true if the fault occurred.
    fn fail(&mut self, fault: Fault, chunk: usize, threads: usize) -> bool {
        let (place, count) = (Place::new(), Place::new());
        let count = count.path().join("count");
        let mut worker = self.work(&place, chunk, threads);
        let (output, counted) = self.shim.fail(&mut worker, place.path(), fault, &count);
        let said = Said::read(place.path());
        let end = output.status.code();
        let context = format!("{fault:?}, {said:?}, {}", String::from_utf8_lossy(&output.stderr));
        assert!(end == Some(0) || end == Some(GAVE_UP), "{end:?}: {context}");
        // The same process recovers from a single failure.
        assert!(fault.sticky || said.ended, "{context}");
        self.check(place, &said);
        counted >= fault.at
    }

    /// Opens and checks the store of a worker, as the next process would.
    fn check(&mut self, place: Place, said: &Said) {
        let mut reader = Party::at(place);
        let outbox = self.world.check_outbox(&mut reader);
        for (number, digest) in &said.left {
            assert_eq!(outbox.get(number), Some(digest));
        }
        self.world.check(&mut reader, &self.mails, said.done);
        self.world.check_outbox(&mut reader);
        assert!(!reader.engine().store().is_restored());
    }

    /// Makes every `step`th operation fail, with a random first one.
    fn fail_each(&mut self, kind: Kind, errno: i32, sticky: bool, step: u64) -> u64 {
        let mut random = SplitMix64::new(step);
        let mut at = 1 + random.next() % step;
        let mut cases = 0;
        loop {
            let (chunk, threads) = [(LEN, 1), (50, 2), (64, 1)][random.below(3)];
            if !self.fail(Fault { at, kind, errno, sticky }, chunk, threads) {
                return cases;
            }
            cases += 1;
            at += step;
        }
    }
}

#[test]
fn failed_writes_and_synchronisations_are_got_over() {
    let mut case = Case::new();
    let writes = case.fail_each(Kind::Write, Fault::EIO, false, 29);
    let full = case.fail_each(Kind::Write, Fault::ENOSPC, false, 31);
    let synchronisations = case.fail_each(Kind::Sync, Fault::EIO, false, 2);
    assert!(writes > 3 && full > 3 && synchronisations > 2, "the shim sees nothing");
}

#[test]
fn a_medium_that_is_gone_or_full_keeps_what_was_acknowledged() {
    let mut case = Case::new();
    let gone = case.fail_each(Kind::Any, Fault::EIO, true, 37);
    let full = case.fail_each(Kind::Write, Fault::ENOSPC, true, 41);
    assert!(gone > 3 && full > 3, "the shim sees nothing");
}

#[test]
#[ignore = "nightly: minutes; docs/design/session-faults.md says how it went"]
fn every_write_and_every_synchronisation_fails() {
    let mut case = Case::new();
    for sticky in [false, true] {
        for (kind, errno) in
            [(Kind::Write, Fault::EIO), (Kind::Write, Fault::ENOSPC), (Kind::Sync, Fault::EIO)]
        {
            let cases = case.fail_each(kind, errno, sticky, 1);
            println!("{cases} of {kind:?} with error {errno}, sticky {sticky}");
        }
    }
}

#[test]
fn power_cuts_keep_what_was_acknowledged() {
    cut(8, 1, 1, Durability::EachCommit);
}

#[test]
fn power_cuts_keep_what_was_acknowledged_at_the_end_of_a_batch() {
    for threads in [1, 2] {
        cut(10, 1, threads, Durability::AtEnd);
    }
}

/// A batch with fsync at its end fails before it. Its messages are delivered again, and the power
/// is cut when they are acknowledged.
#[test]
fn power_cuts_keep_what_came_again_after_a_failed_batch() {
    let acknowledged = cut_after_failures(30);
    assert!(acknowledged > 3, "{acknowledged}");
}

#[test]
#[ignore = "nightly: five times as many failures as by default"]
fn power_cuts_keep_what_came_again_after_many_failed_batches() {
    let acknowledged = cut_after_failures(6);
    assert!(acknowledged > 20, "{acknowledged}");
}

/// Makes every `step`th write fail. Returns how often a message was acknowledged afterwards.
fn cut_after_failures(step: usize) -> usize {
    let mut case = Case::new();
    let mut acknowledged = 0;
    for (kind, errno) in [(Kind::Write, Fault::ENOSPC), (Kind::Write, Fault::EIO)] {
        for (at, threads) in (20..140).step_by(step).zip([1, 2].into_iter().cycle()) {
            let (place, log) = (Place::new(), Place::new());
            let log = log.path().join("log");
            let mut worker = case.work_with(&place, 40, threads, Durability::AtEnd);
            let mut medium = Medium::of(place.path());
            let fault = Fault { at, kind, errno, sticky: false };
            let output = case.shim.fail_and_record(&mut worker, place.path(), fault, &log);
            let end = output.status.code();
            assert!(end == Some(0) || end == Some(GAVE_UP), "{fault:?}: {:?}", output.status);
            let mut said = String::new();
            for action in read_log(&log) {
                medium.apply(&action);
                let Action::Ack(line) = action else { continue };
                said.push_str(core::str::from_utf8(&line).unwrap());
                if line.starts_with(b"done") {
                    let left = Place::new();
                    // Data that was not written with fsync is lost.
                    medium.cut(place.path(), left.path(), &mut |below| usize::from(below == WAYS));
                    let said = Said::parse(&said);
                    case.check(left, &said);
                    acknowledged += usize::from(said.done > 0);
                }
            }
        }
    }
    acknowledged
}

#[test]
#[ignore = "nightly: minutes; docs/design/session-faults.md says how it went"]
fn every_power_cut_keeps_what_was_acknowledged() {
    for threads in [1, 2] {
        for durability in [Durability::EachCommit, Durability::AtEnd] {
            cut(1, 3, threads, durability);
        }
    }
}

/// Cuts the power after every `step`th operation of a worker on the medium, `times` times each.
fn cut(step: usize, times: usize, threads: usize, durability: Durability) {
    let mut case = Case::new();
    let (place, log) = (Place::new(), Place::new());
    let log = log.path().join("log");
    let mut worker = case.work_with(&place, 40, threads, durability);
    let mut medium = Medium::of(place.path());
    let output = case.shim.record(&mut worker, place.path(), &log);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let actions = read_log(&log);
    let _ = fs::remove_file(place.path().join("ack"));
    let mut random = SplitMix64::new(step as u64);
    let (mut said, mut cuts) = (String::new(), 0);
    for (at, action) in actions.iter().enumerate() {
        medium.apply(action);
        if let Action::Ack(line) = action {
            said.push_str(core::str::from_utf8(line).unwrap());
        }
        if at % step != 0 {
            continue;
        }
        for _ in 0..times {
            let left = Place::new();
            medium.cut(place.path(), left.path(), &mut |below| random.below(below));
            case.check(left, &Said::parse(&said));
            cuts += 1;
        }
    }
    assert!(Said::parse(&said).ended && cuts > 20, "{cuts}");
    println!("{cuts} power cuts in {} operations", actions.len());
}

/// A limit of the file size simulates a full medium. The process gets an error, and the next
/// process, which has more space, continues.
#[test]
fn without_room_nothing_is_lost() {
    let mut case = Case::new();
    let mut gave_up = 0;
    // In units of 512 bytes. The signal is ignored, so the write fails instead.
    for blocks in [50, 150, 250, 350, 500, 700] {
        let place = Place::new();
        let worker = case.work(&place, 20, 1);
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\""), "sh"]);
        shell.arg(worker.get_program()).args(worker.get_args());
        shell.envs(worker.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let end = shell.output().unwrap().status.code();
        assert!(end == Some(0) || end == Some(GAVE_UP), "{end:?}");
        gave_up += usize::from(end == Some(GAVE_UP));
        let said = Said::read(place.path());
        case.check(place, &said);
    }
    assert!(gave_up > 1, "there was room");
}

/// Only one process may use the store: the second is refused, and continues after the first was
/// killed.
#[test]
fn two_processes_take_turns() {
    let mut case = Case::new();
    // On a busy machine, the first process may finish before it is observed.
    assert!((0..10).any(|_| a_second_process_is_refused(&mut case)));
}

/// Returns true if the first process was still working.
fn a_second_process_is_refused(case: &mut Case) -> bool {
    let place = Place::new();
    let mut first = case.work(&place, 1, 2).stdout(Stdio::null()).spawn().unwrap();
    while Said::read(place.path()).done < 20 {
        thread::sleep(Duration::from_millis(1));
    }
    let refused = Store::open(&place.store(), Unlock::None, OpenOptions::new());
    let is_running = first.try_wait().unwrap().is_none();
    first.kill().unwrap();
    first.wait().unwrap();
    let said = Said::read(place.path());
    let in_the_middle = is_running && said.done < LEN;
    assert!(!in_the_middle || matches!(refused, Err(OpenStoreError::Locked)));
    case.check(place, &said);
    in_the_middle
}

/// A wrong secret, and a store with a damaged page: the errors are clear, and no row is written.
#[test]
fn a_wrong_secret_and_a_damaged_page_cost_no_row() {
    let mut case = Case::new();
    let place = Place::new();
    copy(&case.template.store(), &place.store());
    let path = place.store().join("store.db");
    let open = |unlock| {
        Store::open(&place.store(), unlock, OpenOptions::new().wait(Duration::from_secs(9)))
    };
    assert!(matches!(open(Unlock::Passphrase(b"no")), Err(OpenStoreError::Authentication)));
    let good = fs::read(&path).unwrap();
    let envelopes: Vec<_> = case.mails.iter().map(Mail::envelope).collect();
    let (mut refused, mut failed) = (0, 0);
    for page in 0..good.len() / PAGE {
        let mut bad = good.clone();
        bad[page * PAGE + 100] ^= 1;
        fs::write(&path, &bad).unwrap();
        // The damage may be found at once, in the middle of a batch, or not at all.
        let engine = open(Unlock::None).map_err(drop);
        match engine.and_then(|store| Engine::<OlmAccount>::open(store).map_err(drop)) {
            Err(()) => refused += 1,
            Ok(mut engine) => match engine.decrypt_batch(&envelopes, &BatchOptions::whole()) {
                Ok(report) => assert!(report.outcomes.iter().all(|it| it.is_kept())),
                Err(error) => {
                    failed += 1;
                    let is_damage = matches!(
                        error.cause,
                        EngineError::Store(StoreError::Damaged(_)) | EngineError::Damaged(_)
                    );
                    assert!(is_damage && error.done.outcomes.is_empty(), "{page}: {error:?}");
                }
            },
        }
        for file in fs::read_dir(place.store()).unwrap() {
            fs::remove_file(file.unwrap().path()).unwrap();
        }
        copy(&case.template.store(), &place.store());
    }
    assert!(refused > 0 && failed > 0, "{refused} {failed}");
    // After the page is restored, all messages are there.
    case.check(place, &Said::default());
}

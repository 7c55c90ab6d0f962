//! Tests with failing disks and power cuts. The event, decision, rule use and log line of a request
//! are all recorded or not at all, and every request that was answered is recorded.

use std::fs::{File, OpenOptions as FileOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::{env, fs, process};

use endseal_crypto::sha256;
use endseal_signer::{
    LogEntry, LogVerdict, Matter, OpenSignerError, SignerStore, State, StateError,
};
use endseal_store::OpenOptions;
use endseal_testing::{Scratch, SplitMix64};

use crate::faults::{Action, Fault, Kind, Medium, Shim, read_log};
use crate::world::{NOW, PASSPHRASE, World, invitation, rule, used};

/// Environment variable of a worker process: the folder of the signer.
const WORK: &str = "ENDSEAL_SIGNER_TEST_WORK";
/// Exit code of a worker that gave up because the disk kept failing.
const GAVE_UP: i32 = 3;
/// Number of requests that a worker decides, each in its own transaction.
const REQUESTS: u32 = 4;

/// Creates a signer with an app and a rule, and closes it.
fn template() -> World {
    let (world, mut signer) = World::with_user();
    let mut transaction = signer.begin().unwrap();
    transaction.add_app(invitation(1)).unwrap();
    transaction.put_rule(&invitation(1).record_name(), rule(1, 0)).unwrap();
    transaction.commit().unwrap();
    drop(signer);
    world
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Worker process: this test binary as a child. Without the variable the test does nothing.
#[test]
fn worker() {
    let Ok(folder) = env::var(WORK) else { return };
    let folder = Path::new(&folder);
    let ack = FileOptions::new().create(true).append(true).open(folder.join("ack"));
    if work(&folder.join("signer"), &mut ack.unwrap()).is_none() {
        process::exit(GAVE_UP);
    }
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["media::worker", "--exact", "--nocapture", "--test-threads=1"]);
    command.env(WORK, folder);
    command
}

/// Decides requests like the program, which retries after a failure.
fn work(directory: &Path, ack: &mut File) -> Option<()> {
    let mut signer = retry(|| open(directory).map_err(drop))?;
    for number in 1..=REQUESTS {
        retry(|| {
            if signer.is_stale() {
                signer.recover().map_err(drop)?;
            }
            // The request can be recorded even though its commit reported failure.
            if signer.state().has_event(&digest(number)) {
                return Ok(());
            }
            decide(&mut signer, number).map_err(drop)
        })?;
        ack.write_all(format!("answer {number}\n").as_bytes()).unwrap();
    }
    Some(())
}

fn retry<T>(mut attempt: impl FnMut() -> Result<T, ()>) -> Option<T> {
    (0..3).find_map(|_| attempt().ok())
}

fn open(directory: &Path) -> Result<SignerStore, OpenSignerError> {
    SignerStore::open(directory, PASSPHRASE, OpenOptions::new())
}

/// Used as id of the event, and as digest of the request in it.
fn digest(number: u32) -> [u8; 32] {
    sha256::digest(&number.to_le_bytes())
}

/// Records event, decision, rule use and log line of a request in one transaction.
fn decide(signer: &mut SignerStore, number: u32) -> Result<(), StateError> {
    let app = invitation(1).record_name();
    let mut transaction = signer.begin()?;
    assert!(transaction.note_event(digest(number), NOW, 1)?);
    let uses = transaction.app(&app).and_then(|it| it.rule(1)).map(used).unwrap();
    transaction.put_rule(&app, rule(1, uses + 1))?;
    let mut entry = LogEntry::new(Matter::Request, NOW);
    (entry.app, entry.verdict) = (number, LogVerdict::Allowed);
    (entry.request, entry.carrier, entry.created_at) = (digest(number), digest(number), NOW);
    transaction.append(entry)?;
    Ok(transaction.commit()?)
}

/// Returns the number of recorded requests. Checks that each is complete and that no other data is
/// there.
fn count(signer: &mut SignerStore) -> u32 {
    let verified = signer.verify_log(None).unwrap();
    let state: &State = signer.state();
    let there = u32::try_from(state.events().len()).unwrap();
    for number in 1..=there {
        assert!(state.has_event(&digest(number)));
        assert_eq!(state.request(number, &digest(number)).unwrap().verdict, LogVerdict::Allowed);
    }
    let app = state.app(&invitation(1).record_name()).unwrap();
    assert_eq!(app.rule(1).map(used), Some(there));
    assert_eq!(state.requests().len(), usize::try_from(there).unwrap());
    assert_eq!((verified.number, state.head()), (there.into(), &verified));
    let lines = signer.log_lines(0, 100).unwrap();
    assert!(lines.iter().map(|line| line.entry.app).eq(1..=there));
    there
}

/// Returns the number of responses that were sent.
fn answered(said: &str) -> u32 {
    u32::try_from(said.matches("answer ").count()).unwrap()
}

/// Makes the operation number 1, 2, … of a kind fail, with `sticky` also all later ones, until a
/// run has no failure.
fn fail_each(kind: Kind, errno: i32, sticky: bool, step: usize) {
    let (shim, template) = (Shim::compile(), template());
    let mut cases = 0;
    for at in (1..).step_by(step) {
        let (place, counts) = (Scratch::new(), Scratch::new());
        copy(&template.path(), &place.path("signer"));
        let fault = Fault { at, kind, errno, sticky };
        let mut worker = command(place.folder());
        let (output, counted) =
            shim.fail(&mut worker, place.folder(), fault, &counts.path("count"));
        let said = fs::read_to_string(place.path("ack")).unwrap_or_default();
        let context = format!("{fault:?}, {said}, {}", String::from_utf8_lossy(&output.stderr));
        let end = output.status.code();
        assert!(end == Some(0) || end == Some(GAVE_UP), "{end:?}: {context}");
        // A single failure is retried successfully in the same process.
        assert!(sticky || answered(&said) == REQUESTS, "{context}");
        let mut signer = open(&place.path("signer")).unwrap();
        let there = count(&mut signer);
        assert!((answered(&said)..=REQUESTS).contains(&there), "{there}: {context}");
        // The signer can continue afterwards.
        if there < REQUESTS {
            decide(&mut signer, there + 1).unwrap();
            assert_eq!(count(&mut signer), there + 1);
        }
        if counted < at {
            break;
        }
        cases += 1;
    }
    assert!(cases > 3, "{cases}: the shim sees nothing");
}

#[test]
fn a_failed_write_leaves_all_of_a_request_or_nothing() {
    fail_each(Kind::Write, Fault::EIO, false, 1);
}

#[test]
fn a_full_medium_leaves_all_of_a_request_or_nothing() {
    fail_each(Kind::Write, Fault::ENOSPC, false, 3);
    fail_each(Kind::Write, Fault::ENOSPC, true, 3);
}

#[test]
fn a_failed_fsync_leaves_all_of_a_request_or_nothing() {
    fail_each(Kind::Sync, Fault::EIO, false, 1);
    fail_each(Kind::Sync, Fault::EIO, true, 2);
}

#[test]
fn a_medium_that_is_gone_leaves_all_of_a_request_or_nothing() {
    fail_each(Kind::Any, Fault::EIO, true, 3);
}

/// The power fails after each single operation on the disk.
#[test]
fn power_cuts_leave_all_of_a_request_or_nothing() {
    let (shim, template) = (Shim::compile(), template());
    let (place, logs) = (Scratch::new(), Scratch::new());
    copy(&template.path(), &place.path("signer"));
    let mut medium = Medium::of(place.folder());
    let mut worker = command(place.folder());
    let output = shim.record(&mut worker, place.folder(), &logs.path("log"));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let actions = read_log(&logs.path("log"));
    let (mut said, mut dice, mut found) = (String::new(), SplitMix64::new(3), [0; 2]);
    for (at, action) in actions.iter().enumerate() {
        medium.apply(action);
        if let Action::Ack(line) = action {
            said.push_str(core::str::from_utf8(line).unwrap());
        }
        for _ in 0..3 {
            let left = Scratch::new();
            medium.cut(place.folder(), left.folder(), &mut |below| dice.below(below));
            let mut signer = open(&left.path("signer")).unwrap();
            let there = count(&mut signer);
            let promised = answered(&said);
            assert!((promised..=promised + 1).contains(&there), "{there}: after {at}, {said}");
            found[usize::try_from(there - promised).unwrap()] += 1;
        }
    }
    assert_eq!(answered(&said), REQUESTS);
    // Cuts must occur both after a response and between a commit and its response.
    assert!(found[0] > 50 && found[1] > 0, "{found:?}");
}

//! A workload that shows which data is there: batches of messages, each in one transaction with the
//! new state of the session and an answer in the outbox.

use core::time::Duration;
use std::fs::{File, OpenOptions as FileOptions};
use std::io::Write as _;
use std::path::Path;
use std::{env, fs, process, thread};

use endseal_crypto::random::OsRandom;
use endseal_crypto::secret::Zeroizing;
use endseal_store::hazmat::with_housekeeping;
use endseal_store::{Depth, OpenOptions, Protection, SessionRow, SessionStatus, Store, StoreError};
use endseal_store::{OpenStoreError, Unlock};

/// Environment variable of a worker: the store, the number of batches, and the messages of each.
pub(crate) const WORK: &str = "ENDSEAL_STORE_TEST_WORK";

/// Environment variable of a [`sleeper`]: its store.
pub(crate) const SLEEP: &str = "ENDSEAL_STORE_TEST_SLEEP";

/// Line by which a worker reports that the store is damaged.
const DAMAGED: &[u8] = b"damaged\n";

/// Returns true if a worker reported damage.
pub(crate) fn met_damage(ack: &str) -> bool {
    ack.contains("damaged\n")
}

/// Exit code of a worker that reported a permanent failure of the medium.
pub(crate) const GAVE_UP: i32 = 3;

/// The worker: this test binary as a child process; without the variable it does nothing.
#[test]
fn worker() {
    let Ok(work) = env::var(WORK) else { return };
    let mut words = work.split(' ');
    let mut word = || words.next().unwrap();
    let (directory, batches, len) = (word(), word().parse().unwrap(), word().parse().unwrap());
    let busy = word() == "busy";
    let directory = Path::new(directory);
    let ack = directory.parent().unwrap().join("ack");
    let mut ack = FileOptions::new().create(true).append(true).open(ack).unwrap();
    if work_through(directory, batches, len, busy, &mut ack).is_none() {
        process::exit(GAVE_UP);
    }
}

/// Returns a command that runs [`worker`].
pub(crate) fn command(directory: &Path, batches: u64, len: u64) -> process::Command {
    let mut command = process::Command::new(env::current_exe().unwrap());
    command.args(["batches::worker", "--exact", "--nocapture", "--test-threads=1"]);
    command.env(WORK, format!("{} {batches} {len} calm", directory.display()));
    command
}

/// Returns a [`command`] for a store that does maintenance at the start of nearly every
/// transaction, because its log and its recent messages are above their limits then.
pub(crate) fn busy_command(directory: &Path, batches: u64, len: u64) -> process::Command {
    let mut command = command(directory, batches, len);
    command.env(WORK, format!("{} {batches} {len} busy", directory.display()));
    command
}

/// A worker that opens the store, reports "open" and stays in the middle of a transaction until it
/// is killed.
#[test]
fn sleeper() {
    let Ok(directory) = env::var(SLEEP) else { return };
    let mut store = Store::open(Path::new(&directory), Unlock::None, OpenOptions::new()).unwrap();
    write(&mut store, 0, 3).unwrap();
    let transaction = store.begin().unwrap();
    transaction.put_record(9, b"", b"never committed").unwrap();
    println!("sleeping");
    thread::sleep(Duration::from_secs(60));
}

/// Does all batches, with some attempts for each, as a program would that does not give up at once.
fn work_through(
    directory: &Path,
    batches: u64,
    len: u64,
    busy: bool,
    ack: &mut File,
) -> Option<()> {
    let options = OpenOptions::new();
    let options = if busy { with_housekeeping(options, 16 << 10, 10) } else { options };
    let mut store = retry(|| open_or_create(directory, options.clone(), ack))?;
    ack.write_all(b"open\n").unwrap();
    for batch in 0..batches {
        retry(|| {
            if store.is_uncertain() {
                assert!(matches!(store.begin().err(), Some(StoreError::Uncertain)));
                store.reopen().map_err(|_| ())?;
            }
            let written = write(&mut store, batch, len);
            let is_uncertain = matches!(written, Err(StoreError::Uncertain));
            let may_be = matches!(written, Err(StoreError::Damaged(_) | StoreError::Io(_)));
            assert!(store.is_uncertain() == is_uncertain || may_be, "{written:?}");
            match written {
                // The batch was committed, although the commit returned an error.
                Ok(()) | Err(StoreError::Duplicate) => Ok(()),
                Err(StoreError::Damaged(_)) => {
                    ack.write_all(DAMAGED).unwrap();
                    Err(())
                }
                Err(_) => Err(()),
            }
        })?;
        ack.write_all(format!("batch {batch}\n").as_bytes()).unwrap();
    }
    retry(|| store.checkpoint().map_err(drop))?;
    store.close().ok()?;
    ack.write_all(b"closed\n").unwrap();
    Some(())
}

fn retry<T>(mut attempt: impl FnMut() -> Result<T, ()>) -> Option<T> {
    (0..3).find_map(|_| attempt().ok())
}

fn open_or_create(directory: &Path, options: OpenOptions, ack: &mut File) -> Result<Store, ()> {
    match Store::open(directory, Unlock::None, options.clone()) {
        Err(OpenStoreError::Missing) => {
            let store = Store::create(directory, Protection::None, &mut OsRandom);
            drop(store.map_err(drop)?);
            Store::open(directory, Unlock::None, options).map_err(drop)
        }
        Err(OpenStoreError::Damaged(_)) => {
            ack.write_all(DAMAGED).unwrap();
            Err(())
        }
        opened => opened.map_err(drop),
    }
}

/// Writes one batch in one transaction.
pub(crate) fn write(store: &mut Store, batch: u64, len: u64) -> Result<(), StoreError> {
    let transaction = store.begin()?;
    let conversation = transaction.conversation_ref(b"here")?;
    let sender = transaction.address_ref(&[1; 32], 1)?;
    let mut messages = transaction.messages()?;
    for i in 0..len {
        let id = [batch.to_le_bytes(), i.to_le_bytes()].concat();
        messages.deliver(conversation, &id, sender, 0, &[2; 16], &[3; 100])?;
    }
    drop(messages);
    if batch % 2 == 1 {
        transaction.write_ahead()?;
    }
    let state = Zeroizing::new([&batch.to_le_bytes()[..], &[4; 1_500]].concat());
    let session =
        SessionRow { tag: [0; 8], engine: 1, status: SessionStatus::Active, used: batch, state };
    transaction.put_session(sender, &session)?;
    transaction.push_outbox(conversation, Some(sender), &batch.to_le_bytes())?;
    transaction.set_cursor(b"queue", &batch.to_le_bytes())?;
    transaction.commit()
}

/// Returns the number of batches in a store. Each must be complete, and there must be nothing else.
pub(crate) fn count(store: &mut Store, len: u64) -> u64 {
    assert_eq!(store.check(Depth::ReadData).unwrap(), []);
    let transaction = store.read().unwrap();
    let inbox = transaction.inbox(0, usize::MAX).unwrap();
    let batches = inbox.len() as u64 / len;
    assert_eq!(inbox.len() as u64, batches * len, "a batch in part");
    for (i, message) in (0..).zip(&inbox) {
        let id = [u64::to_le_bytes(i / len), u64::to_le_bytes(i % len)].concat();
        assert_eq!((message.seq, &message.message), (i + 1, &id));
        assert_eq!(message.plaintext.as_slice(), [3; 100]);
    }
    let outbox = transaction.outbox(0, usize::MAX).unwrap();
    let bodies = outbox.iter().map(|row| u64::from_le_bytes(row.body[..].try_into().unwrap()));
    assert!(bodies.eq(0..batches));
    let last = batches.checked_sub(1);
    let cursor = transaction.cursor(b"queue").unwrap();
    assert_eq!(cursor.map(|it| u64::from_le_bytes(it.try_into().unwrap())), last);
    let session = transaction
        .find_address(&[1; 32], 1)
        .unwrap()
        .and_then(|address| transaction.sessions_of(address).unwrap().pop());
    let state = session.map(|it| u64::from_le_bytes(it.state[..8].try_into().unwrap()));
    assert_eq!(state, last);
    batches
}

/// Returns the number of batches that a worker reported as done; `None` if it did not even open the
/// store.
pub(crate) fn acknowledged(ack: &str) -> Option<u64> {
    ack.contains("open\n").then(|| ack.matches("batch ").count() as u64)
}

/// Returns the lines that a worker has written so far.
pub(crate) fn said(directory: &Path) -> String {
    fs::read_to_string(directory.parent().unwrap().join("ack")).unwrap_or_default()
}

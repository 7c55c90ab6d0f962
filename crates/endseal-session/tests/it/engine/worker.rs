//! A process that decrypts a backlog and reports its progress, until it is killed or its medium
//! fails.

use core::num::NonZeroUsize;
use core::ops::ControlFlow;
use std::fs::{File, OpenOptions as FileOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, process};

use endseal_session::{BatchOptions, Durability, Engine};
use endseal_store::hazmat::with_housekeeping;
use endseal_store::{OpenOptions, Store, Unlock};

use super::party::blake;
use super::world::{GROUP, Mail, address};

/// Exit code after the medium has failed for good.
pub(crate) const GAVE_UP: i32 = 3;

const WORK: &str = "ENDSEAL_SESSION_TEST_WORK";

/// Arguments of a worker, passed in an environment variable.
pub(crate) struct Work<'a> {
    /// Folder with the store. The worker writes its report to the file `ack` there.
    pub(crate) folder: &'a Path,
    pub(crate) backlog: &'a Path,
    /// Index of the first message of the backlog to deliver.
    pub(crate) from: usize,
    /// Messages per transaction.
    pub(crate) chunk: usize,
    pub(crate) threads: usize,
    /// True if the worker also sends messages.
    pub(crate) sends: bool,
    pub(crate) durability: Durability,
}

/// Parsed report of a worker.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// Number of complete lines.
    pub(crate) lines: usize,
    /// Messages of the backlog with results in the store.
    pub(crate) done: usize,
    /// Ciphertexts that may have been sent: numbers and digests.
    pub(crate) left: Vec<(u64, [u8; 32])>,
    /// True if the worker finished.
    pub(crate) ended: bool,
}

impl Work<'_> {
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["engine::worker::worker", "--exact", "--nocapture", "--test-threads=1"]);
        let Self { from, chunk, threads, .. } = self;
        let sends = u8::from(self.sends);
        let paths = format!("{} {}", self.folder.display(), self.backlog.display());
        let at_end = u8::from(self.durability == Durability::AtEnd);
        command.env(WORK, format!("{paths} {from} {chunk} {threads} {sends} {at_end}"));
        command
    }
}

impl Said {
    pub(crate) fn read(folder: &Path) -> Self {
        Self::parse(&fs::read_to_string(folder.join("ack")).unwrap_or_default())
    }

    pub(crate) fn parse(text: &str) -> Self {
        let mut said = Self::default();
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            said.lines += 1;
            let mut words = line.split_whitespace();
            match (words.next().unwrap(), words.next(), words.next()) {
                ("open", None, None) => {}
                ("end", None, None) => said.ended = true,
                ("done", Some(to), None) => said.done = said.done.max(to.parse().unwrap()),
                ("left", Some(number), Some(digest)) => {
                    let mut bytes = [0; 32];
                    for (byte, digits) in bytes.iter_mut().zip(digest.as_bytes().chunks(2)) {
                        let digits = core::str::from_utf8(digits).unwrap();
                        *byte = u8::from_str_radix(digits, 16).unwrap();
                    }
                    said.left.push((number.parse().unwrap(), bytes));
                }
                _ => panic!("a worker said {line:?}"),
            }
        }
        said
    }
}

/// Entry point of the worker: this test binary as a child process. Does nothing in a normal run.
#[test]
fn worker() {
    let Ok(work) = env::var(WORK) else { return };
    let words: Vec<_> = work.split(' ').collect();
    let number = |at: usize| words[at].parse::<usize>().unwrap();
    let (folder, backlog) = (PathBuf::from(words[0]), PathBuf::from(words[1]));
    let from = number(2);
    let options = BatchOptions::default().max_messages(number(3)).threads(number(4));
    let options = options.max_latency(core::time::Duration::MAX);
    let at_end = number(6) == 1;
    let options = if at_end { options.durability(Durability::AtEnd) } else { options };
    let mut ack = FileOptions::new().create(true).append(true).open(folder.join("ack")).unwrap();
    let mails = Mail::read(&backlog);
    if work_through(&folder, &mails, from, &options, number(5) == 1, &mut ack).is_none() {
        process::exit(GAVE_UP);
    }
}

fn work_through(
    folder: &Path,
    mails: &[Mail],
    from: usize,
    options: &BatchOptions,
    sends: bool,
    ack: &mut File,
) -> Option<()> {
    let mut engine: Engine = retry(|| {
        // With small limits, the log and recent messages are moved before most transactions.
        let options = with_housekeeping(OpenOptions::new(), 64 << 10, 50);
        let store = Store::open(&folder.join("store"), Unlock::None, options);
        Engine::open(store.map_err(drop)?).map_err(drop)
    })?;
    ack.write_all(b"open\n").unwrap();
    let envelopes: Vec<_> = mails.iter().map(Mail::envelope).collect();
    let mut done = from;
    let mut options = options.clone();
    let mut turns = 0_u64;
    retry(|| {
        let start = done;
        let read = engine.decrypt_stream(&envelopes[start..], &options, |chunk, turn| {
            for (outcome, at) in chunk.outcomes.iter().zip(start + chunk.range.start..) {
                assert!(outcome.is_kept(), "{at}: {outcome:?}");
            }
            if chunk.is_durable {
                say_done(ack, start + chunk.range.end);
            }
            turns += 1;
            if sends {
                let to = address(if turns.is_multiple_of(2) { 2 } else { 3 });
                let text = format!("turn {turns} of {}", process::id());
                match turn.encrypt(to, text.as_bytes()) {
                    Ok(sent) => say_left(ack, sent.number, &sent.body),
                    Err(_) => return ControlFlow::Break(()),
                }
            }
            ControlFlow::Continue(())
        });
        match read {
            Ok(report) => {
                done = start + report.outcomes.len();
                assert_eq!(done, envelopes.len());
                say_done(ack, done);
                Ok(())
            }
            Err(error) => {
                done = start + error.done.outcomes.len();
                assert!(error.done.outcomes.iter().all(|it| it.is_kept()));
                say_done(ack, done);
                // Commits that were lost are made again, each with fsync and an acknowledgement.
                options = options.clone().durability(Durability::EachCommit);
                Err(())
            }
        }
    })?;
    if sends {
        let sent = retry(|| engine.encrypt_group(GROUP, b"all is read").map_err(drop))?;
        say_left(ack, sent.number, &sent.body);
    }
    ack.write_all(b"end\n").unwrap();
    engine.into_store().close().ok()
}

/// Writes the line in one call, so that it is there completely or not at all.
fn say_done(ack: &mut File, done: usize) {
    ack.write_all(format!("done {done}\n").as_bytes()).unwrap();
}

fn say_left(ack: &mut File, number: u64, body: &[u8]) {
    let digest: String = blake(body).iter().map(|byte| format!("{byte:02x}")).collect();
    ack.write_all(format!("left {number} {digest}\n").as_bytes()).unwrap();
}

/// Makes some attempts, as a program that does not stop at the first error.
fn retry<T>(mut attempt: impl FnMut() -> Result<T, ()>) -> Option<T> {
    const ATTEMPTS: NonZeroUsize = NonZeroUsize::new(3).unwrap();
    (0..ATTEMPTS.get()).find_map(|_| attempt().ok())
}

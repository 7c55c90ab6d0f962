//! Delivers the messages and welcomes of a session file.

use alloc::collections::BTreeMap;
use core::{error, fmt};
use std::io::{self, Read};

use endseal_keyring::device::Address;
use endseal_session::group::GroupError;
use endseal_session::{
    BatchOptions, BatchReport, Engine, EngineError, Envelope, FileRecord, FileRecordError,
    FileRecords, FileRoute, GroupChangeError, JoinedGroup, Outcome, Released,
};

/// Bytes of a file that are read at once. Longer records need more.
const PIECE: usize = 8 << 20;

/// Limit in bytes on the messages of one backlog.
const HELD: usize = 32 << 20;

/// Counts of the records of a session file, by their result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// All records of the file.
    pub records: u64,
    /// Messages that were opened now.
    pub delivered: u64,
    /// Messages that had been delivered before.
    pub already_delivered: u64,
    /// Messages that were parked for a later epoch of their group.
    pub buffered: u64,
    /// Messages that were parked for another reason.
    pub parked: u64,
    /// Parked messages that were opened now.
    pub released: u64,
    /// Records for another device or identity, which were skipped.
    pub elsewhere: u64,
    /// Groups that this device joined.
    pub joined: Vec<JoinedGroup>,
    /// Groups that were not joined because their inviter was not accepted. They are counted in
    /// `failures` as `unknown-sender`.
    pub uninvited: Vec<JoinedGroup>,
    /// Messages that were not opened, by the code of the failure. Parked messages that failed now
    /// are included.
    pub failures: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Returns the number of messages that were not opened.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    fn add(&mut self, report: &BatchReport) {
        for outcome in &report.outcomes {
            match outcome {
                Outcome::Delivered(_) => self.delivered += 1,
                Outcome::AlreadyDelivered(_) => self.already_delivered += 1,
                Outcome::Buffered(_) => self.buffered += 1,
                Outcome::Parked(_) => self.parked += 1,
                Outcome::Failed(failure) => self.add_failure(failure.code()),
                _ => {}
            }
        }
        self.add_released(&report.released);
    }

    fn add_released(&mut self, released: &[Released]) {
        for released in released {
            match released.outcome {
                Outcome::Failed(failure) => self.add_failure(failure.code()),
                _ => self.released += 1,
            }
        }
    }

    fn add_failure(&mut self, code: &'static str) {
        *self.failures.entry(code).or_default() += 1;
    }
}

/// Delivers session files (docs/spec/session-file.md) as one backlog, in several transactions.
/// Messages are opened in the order of their numbers, whatever the order of the files. A backlog
/// has at most 32 MiB of messages; after that, the messages read so far are delivered first.
#[allow(missing_debug_implementations, reason = "nothing of it is for people")]
pub struct Reception<'a> {
    engine: &'a mut Engine,
    options: &'a BatchOptions,
    inviters: &'a dyn Fn(&Address) -> bool,
    /// Bodies of the records, concatenated.
    bodies: Vec<u8>,
    records: Vec<Held>,
}

/// A record whose body is in memory.
struct Held {
    id: Vec<u8>,
    group: Vec<u8>,
    /// End of its body in [`Reception::bodies`].
    end: usize,
}

impl<'a> Reception<'a> {
    /// Makes a reception that has read no file. It accepts no inviter until [`Self::inviters`] is
    /// called.
    #[must_use]
    pub fn new(engine: &'a mut Engine, options: &'a BatchOptions) -> Self {
        let inviters = &|_: &Address| false;
        Self { engine, options, inviters, bodies: Vec::new(), records: Vec::new() }
    }

    /// Accepts welcomes of the inviters for which `accepts` returns true. Other welcomes are
    /// counted as failures with the code `unknown-sender`.
    ///
    /// The caller MUST show the inviter and the members of each group in [`Tally::joined`].
    #[must_use]
    pub fn inviters(self, accepts: &'a dyn Fn(&Address) -> bool) -> Self {
        Self { inviters: accepts, ..self }
    }

    /// Reads a file. Records are delivered when the backlog is full, and with [`Self::finish`].
    /// `progress` receives the number of bytes read.
    ///
    /// # Errors
    /// Returns [`ReceiveError`] if the input cannot be read, the file is damaged, or the store
    /// fails. The records before the fault are kept.
    pub fn read(
        &mut self,
        mut input: impl Read,
        tally: &mut Tally,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), ReceiveError> {
        let mut parser = FileRecords::new();
        let (mut piece, mut done) = (Vec::new(), 0);
        loop {
            // Read more than a piece only for a longer record.
            let most = if piece.len() < PIECE { PIECE } else { FileRecord::MAX_LEN };
            let space = most - piece.len();
            let read = (&mut input).take(space as u64).read_to_end(&mut piece);
            // The bytes that were read before a failure are valid.
            let is_last = !matches!(read, Ok(len) if len == space);
            let mut rest = piece.as_slice();
            let fault = loop {
                match parser.next(&mut rest) {
                    Ok(Some(record)) => self.hold(&record, tally)?,
                    Ok(None) if is_last => break parser.finish(rest).err(),
                    Ok(None) => break None,
                    Err(fault) => break Some(fault),
                }
            };
            let left = rest.len();
            done += (piece.len() - left) as u64;
            progress(done);
            read.map_err(ReceiveError::Input)?;
            if let Some(fault) = fault {
                return Err(ReceiveError::Format(fault));
            }
            if is_last {
                return Ok(());
            }
            piece.drain(..piece.len() - left);
        }
    }

    /// Delivers the records that were not delivered yet.
    ///
    /// # Errors
    /// Returns [`EngineError`] if the store fails. `tally` counts what was delivered before.
    pub fn finish(mut self, tally: &mut Tally) -> Result<(), EngineError> {
        self.deliver(tally)
    }

    fn hold(&mut self, record: &FileRecord<'_>, tally: &mut Tally) -> Result<(), EngineError> {
        tally.records += 1;
        let group = match record.route {
            FileRoute::Group(id) => id.to_vec(),
            FileRoute::Welcome { recipient, .. } if recipient == self.engine.address() => {
                self.deliver(tally)?;
                return self.join(record.body, tally);
            }
            _ => {
                tally.elsewhere += 1;
                return Ok(());
            }
        };
        if self.bodies.len() + record.body.len() > HELD {
            self.deliver(tally)?;
        }
        self.bodies.extend_from_slice(record.body);
        self.records.push(Held { id: record.id.to_vec(), group, end: self.bodies.len() });
        Ok(())
    }

    fn join(&mut self, welcome: &[u8], tally: &mut Tally) -> Result<(), EngineError> {
        let inviters = self.inviters;
        let joined = self.engine.transaction(|transaction| {
            let joined = transaction.join_group(welcome)?;
            if inviters(&joined.inviter) {
                Ok(joined)
            } else {
                Err(NotJoined::Uninvited(Box::new(joined)))
            }
        });
        let error = match joined {
            Ok(joined) => {
                tally.add_released(&joined.released);
                tally.joined.push(joined);
                return Ok(());
            }
            Err(NotJoined::Uninvited(group)) => {
                tally.add_failure("unknown-sender");
                tally.uninvited.push(*group);
                return Ok(());
            }
            Err(NotJoined::Change(error)) => error,
        };
        tally.add_failure(match error {
            GroupChangeError::Joined => {
                tally.already_delivered += 1;
                return Ok(());
            }
            GroupChangeError::Engine(EngineError::Damaged(_)) => "damaged",
            GroupChangeError::Engine(error) => return Err(error),
            GroupChangeError::Exists => "group-exists",
            GroupChangeError::KeyPackageUsed => "key-package-used",
            GroupChangeError::Group(GroupError::NoKeyPackage) => "no-prekey",
            GroupChangeError::Group(GroupError::TooLarge) => "group-too-large",
            GroupChangeError::Group(GroupError::UnknownSuite | GroupError::InvalidId) => {
                "malformed"
            }
            _ => "authentication",
        });
        Ok(())
    }

    fn deliver(&mut self, tally: &mut Tally) -> Result<(), EngineError> {
        let mut start = 0;
        let envelopes: Vec<_> = self
            .records
            .iter()
            .map(|record| {
                let body = self.bodies.get(start..record.end).unwrap_or_default();
                start = record.end;
                Envelope::from_group(&record.id, &record.group, body)
            })
            .collect();
        let delivered = self.engine.decrypt_batch(&envelopes, self.options);
        self.bodies.clear();
        self.records.clear();
        match delivered {
            Ok(report) => {
                tally.add(&report);
                Ok(())
            }
            Err(error) => {
                tally.add(&error.done);
                Err(error.cause)
            }
        }
    }
}

/// Reason why a group was not joined.
enum NotJoined {
    Change(GroupChangeError),
    Uninvited(Box<JoinedGroup>),
}

impl From<EngineError> for NotJoined {
    fn from(error: EngineError) -> Self {
        Self::Change(error.into())
    }
}

impl From<GroupChangeError> for NotJoined {
    fn from(error: GroupChangeError) -> Self {
        Self::Change(error)
    }
}

/// Reason why a session file was not delivered completely.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The store failed.
    Engine(EngineError),
    /// The file is damaged, truncated, or not a session file.
    Format(FileRecordError),
    /// The file cannot be read.
    Input(io::Error),
}

impl From<EngineError> for ReceiveError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl fmt::Display for ReceiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(f),
            Self::Format(error) => error.fmt(f),
            Self::Input(_) => f.write_str("cannot read the session file"),
        }
    }
}

impl error::Error for ReceiveError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Engine(error) => error.source(),
            Self::Format(_) => None,
            Self::Input(error) => Some(error),
        }
    }
}

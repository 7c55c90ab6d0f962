//! Messages of a session file that are delivered.

use alloc::collections::BTreeMap;
use core::{error, fmt};
use std::io::{self, Read};

use endseal_session::{
    BatchOptions, BatchReport, Engine, EngineError, Envelope, FileRecord, FileRecordError,
    FileRecords, FileRoute, Outcome,
};

/// Bytes of a file that are in memory at once, if they hold a record.
const PIECE: usize = 8 << 20;

/// What became of the records of a session file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// All of them.
    pub records: u64,
    /// Opened now.
    pub delivered: u64,
    /// Delivered before.
    pub already_delivered: u64,
    /// Parked for a later epoch of their group.
    pub buffered: u64,
    /// Parked for another reason.
    pub parked: u64,
    /// Parked messages that were opened now.
    pub released: u64,
    /// For another device or identity, and passed over.
    pub elsewhere: u64,
    /// Not opened, by the code of the failure; parked messages that failed now are counted too.
    pub failures: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// How many were not opened.
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
                Outcome::Failed(failure) => *self.failures.entry(failure.code()).or_default() += 1,
                _ => {}
            }
        }
        for released in &report.released {
            match released.outcome {
                Outcome::Failed(failure) => *self.failures.entry(failure.code()).or_default() += 1,
                _ => self.released += 1,
            }
        }
    }
}

/// Delivers the records of a session file (docs/spec/session-file.md), transaction by transaction, and
/// adds what became of them to `tally`. `progress` is told how many bytes are done with.
///
/// # Errors
/// [`ReceiveError`]. The records before the fault are delivered, and counted in `tally`.
pub fn receive(
    engine: &mut Engine,
    mut input: impl Read,
    options: &BatchOptions,
    tally: &mut Tally,
    progress: &mut dyn FnMut(u64),
) -> Result<(), ReceiveError> {
    let own = engine.address();
    let mut parser = FileRecords::new();
    let (mut piece, mut done) = (Vec::new(), 0);
    loop {
        let space = PIECE.max(FileRecord::MAX_LEN) - piece.len();
        let read = (&mut input).take(space as u64).read_to_end(&mut piece);
        // What was read before a failure is there, and good.
        let is_last = !matches!(read, Ok(len) if len == space);
        let mut rest = piece.as_slice();
        let mut envelopes = Vec::new();
        let fault = loop {
            let record = match parser.next(&mut rest) {
                Ok(Some(record)) => record,
                Ok(None) if is_last => break parser.finish(rest).err(),
                Ok(None) => break None,
                Err(fault) => break Some(fault),
            };
            tally.records += 1;
            match record.route {
                FileRoute::Devices { sender, recipient } if recipient == own => {
                    envelopes.push(Envelope::from_device(record.id, sender, record.body));
                }
                FileRoute::Group(id) => {
                    envelopes.push(Envelope::from_group(record.id, id, record.body));
                }
                _ => tally.elsewhere += 1,
            }
        };
        let report = engine.decrypt_batch(&envelopes, options);
        match report {
            Ok(report) => tally.add(&report),
            Err(error) => {
                tally.add(&error.done);
                return Err(error.cause.into());
            }
        }
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

/// Why not all of a session file was delivered.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The store.
    Engine(EngineError),
    /// The file is damaged, cut short, or none.
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

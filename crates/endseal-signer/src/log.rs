//! The chain of the audit log (docs/spec/signer.md, "Audit log").

use core::fmt;

use endseal_store::{ReadTransaction, StoreError};

use crate::error::{LoadError, RecordError};
use crate::records::head::LogHead;
use crate::records::line::LogLine;

/// The head that a store has.
pub(crate) fn head(transaction: &ReadTransaction<'_>) -> Result<LogHead, LoadError> {
    let Some(value) = transaction.record(LogHead::KIND, &[])? else { return Ok(LogHead::START) };
    LogHead::from_bytes(&value).map_err(|error| LoadError::Record(LogHead::KIND, error))
}

/// Verifies the whole audit log and returns its last line. A bounded number of lines is in memory
/// at a time. `noted`, number and hash that were kept elsewhere, MUST be in it.
///
/// [`SignerStore::verify_log`](crate::SignerStore::verify_log) is this for a signer that opens; the
/// log of one that does not is verified in its [`Store`](endseal_store::Store).
///
/// # Errors
/// [`VerifyError::Broken`].
pub fn verify_log(
    transaction: &ReadTransaction<'_>,
    noted: Option<&LogHead>,
) -> Result<LogHead, VerifyError> {
    let mut verification = Verification::new(noted.copied());
    loop {
        if let Some(head) = verification.page(transaction)? {
            return Ok(head);
        }
    }
}

/// Verification of the log, a page at a time. Lines may be appended between two pages: they are
/// verified with the others.
pub(crate) struct Verification {
    noted: Option<LogHead>,
    is_noted: bool,
    /// The last line that was verified.
    at: LogHead,
}

impl Verification {
    pub(crate) fn new(noted: Option<LogHead>) -> Self {
        let at = LogHead::START;
        Self { noted, is_noted: noted.is_none_or(|noted| noted == at), at }
    }

    /// Verifies the next page. Returns the last line once there are no more.
    pub(crate) fn page(
        &mut self,
        transaction: &ReadTransaction<'_>,
    ) -> Result<Option<LogHead>, VerifyError> {
        let broken = |at, fault| Err(VerifyError::Broken(LogBroken { at, fault }));
        // Pages begin behind the empty name, which no line has.
        let name = match self.at.number {
            0 if transaction.record(LogLine::KIND, &[])?.is_some() => {
                return broken(1, LogFault::Missing);
            }
            0 => Vec::new(),
            number => LogLine::record_name(number).to_vec(),
        };
        let page = transaction.records_after(LogLine::KIND, &name, PAGE)?;
        for (name, value) in &page {
            let next = self.at.number.saturating_add(1);
            if *name.as_slice() != LogLine::record_name(next) {
                return broken(next, LogFault::Missing);
            }
            let line = LogLine::from_bytes(name, value).and_then(|_| LogLine::split(value));
            let (hash, body) = match line {
                Ok(parts) => parts,
                Err(error) => return broken(next, LogFault::Record(error)),
            };
            self.at = self.at.after(body);
            if self.at.hash != *hash {
                return broken(next, LogFault::Hash);
            }
            self.is_noted |= self.noted == Some(self.at);
        }
        if page.len() == PAGE {
            return Ok(None);
        }
        let head = match head(transaction) {
            Ok(head) => head,
            Err(LoadError::Store(error)) => return Err(error.into()),
            Err(_) => return broken(self.at.number, LogFault::Head),
        };
        if head.number > self.at.number {
            return broken(self.at.number.saturating_add(1), LogFault::Missing);
        }
        if head != self.at {
            return broken(head.number.saturating_add(1), LogFault::Head);
        }
        if !self.is_noted {
            return broken(self.noted.map_or(0, |noted| noted.number), LogFault::Noted);
        }
        Ok(Some(head))
    }
}

/// Lines that are read at a time: about 300 KiB, and 4 ms of work.
pub(crate) const PAGE: usize = 1_024;

/// The log was not verified.
#[derive(Debug)]
#[non_exhaustive]
pub enum VerifyError {
    /// The store failed.
    Store(StoreError),
    /// The log was changed.
    Broken(LogBroken),
}

/// Place at which a log was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogBroken {
    /// Number of the first line that is not as it was written.
    pub at: u64,
    /// Fault of that line.
    pub fault: LogFault,
}

/// Fault of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogFault {
    /// The line is not there.
    Missing,
    /// The line is no record of one: malformed, or that of another number.
    Record(RecordError),
    /// The hash does not follow from the line and the one before it.
    Hash,
    /// The log does not end as its head says.
    Head,
    /// The log does not have the line that was kept elsewhere, or has another one there.
    Noted,
}

impl LogFault {
    /// A stable name of the class.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Record(error) => error.code(),
            Self::Hash => "hash",
            Self::Head => "head",
            Self::Noted => "noted",
        }
    }
}

impl From<StoreError> for VerifyError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Broken(broken) => broken.fmt(f),
        }
    }
}

impl core::error::Error for VerifyError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            Self::Broken(_) => None,
        }
    }
}

impl fmt::Display for LogBroken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the log was changed at line {}: ", self.at)?;
        match self.fault {
            LogFault::Missing => f.write_str("it is missing"),
            LogFault::Record(error) => error.fmt(f),
            LogFault::Hash => f.write_str("its hash is wrong"),
            LogFault::Head => f.write_str("the log does not end as its head says"),
            LogFault::Noted => f.write_str("it is not the one that was noted"),
        }
    }
}

//! Hash chain of the audit log (docs/spec/signer.md, "Audit log").

use core::fmt;

use endseal_store::{ReadTransaction, StoreError};

use crate::error::{LoadError, RecordError};
use crate::records::head::LogHead;
use crate::records::line::LogLine;

/// Reads the head of the log from a store; the start of the chain if there is none.
pub(crate) fn head(transaction: &ReadTransaction<'_>) -> Result<LogHead, LoadError> {
    read(transaction, LogHead::KIND)
}

/// Reads from a store behind which line its log starts: the last one that was archived.
pub(crate) fn start(transaction: &ReadTransaction<'_>) -> Result<LogHead, LoadError> {
    read(transaction, LogHead::START_KIND)
}

fn read(transaction: &ReadTransaction<'_>, kind: u32) -> Result<LogHead, LoadError> {
    let Some(value) = transaction.record(kind, &[])? else { return Ok(LogHead::START) };
    LogHead::from_bytes(&value).map_err(|error| LoadError::Record(kind, error))
}

/// Verifies the whole audit log and returns its last line. Memory use is bounded. If the caller
/// kept the number and hash of a line elsewhere, it passes them as `noted`, and the log MUST
/// contain that line.
///
/// Use [`SignerStore::verify_log`](crate::SignerStore::verify_log) for a signer that opens. If it
/// does not open, pass a read transaction of its [`Store`](endseal_store::Store) to this function.
///
/// # Errors
/// [`VerifyError::Broken`] if the log was changed, [`VerifyError::Store`] if it could not be read.
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

/// Verifies the log page by page. Lines that are appended between two pages are verified, too.
pub(crate) struct Verification {
    noted: Option<LogHead>,
    is_noted: bool,
    /// True until the first page is read.
    is_first: bool,
    /// Number and hash of the last verified line, or of the last archived one.
    at: LogHead,
}

impl Verification {
    pub(crate) fn new(noted: Option<LogHead>) -> Self {
        let at = LogHead::START;
        Self { noted, is_noted: noted.is_none_or(|noted| noted == at), is_first: true, at }
    }

    /// Verifies the next page. Returns the last line after the last page, and `None` before.
    pub(crate) fn page(
        &mut self,
        transaction: &ReadTransaction<'_>,
    ) -> Result<Option<LogHead>, VerifyError> {
        let broken = |at, fault| Err(VerifyError::Broken(LogBroken { at, fault }));
        let start = match start(transaction) {
            Ok(start) => start,
            Err(LoadError::Store(error)) => return Err(error.into()),
            Err(_) => return broken(0, LogFault::Start),
        };
        // Lines may be archived between two pages.
        if start.number > self.at.number {
            self.at = start;
            self.is_noted |= self.noted == Some(start);
        }
        // A page starts behind a name. The empty name comes before all lines, and no line has it.
        let name = match self.is_first {
            true if transaction.record(LogLine::KIND, &[])?.is_some() => {
                return broken(self.at.number.saturating_add(1), LogFault::Missing);
            }
            true => Vec::new(),
            false => LogLine::record_name(self.at.number).to_vec(),
        };
        self.is_first = false;
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

/// Number of lines per page: about 300 KiB, and 4 ms of work.
pub(crate) const PAGE: usize = 1_024;

/// Reason why the log could not be verified.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The store could not be read.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The log was changed.
    #[error("{0}")]
    Broken(LogBroken),
}

/// First line at which a log was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogBroken {
    /// Number of the first line that is not as it was written.
    pub at: u64,
    /// Fault of this line.
    pub fault: LogFault,
}

/// Fault that verification found in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogFault {
    /// The line is missing.
    Missing,
    /// The record is malformed, or belongs to another line number.
    Record(RecordError),
    /// The hash does not match the line and its predecessor.
    Hash,
    /// The last line is not the one that the head names.
    Head,
    /// The record of the last archived line is malformed.
    Start,
    /// The log does not contain the line that was kept elsewhere.
    Noted,
}

impl LogFault {
    /// Returns the stable name of the class, as in the test vectors.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Record(error) => error.code(),
            Self::Hash => "hash",
            Self::Head => "head",
            Self::Start => "start",
            Self::Noted => "noted",
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
            LogFault::Start => f.write_str("the record of archived lines is malformed"),
            LogFault::Noted => f.write_str("it is not the line that was kept elsewhere"),
        }
    }
}

//! The interface of subjects, which are the implementations that are measured.

use core::fmt;

use crate::clock::Elapsed;
use crate::record::{Better, Params, SubjectInfo};

/// An implementation of the cases of a suite.
pub trait Subject {
    /// Returns the subject's description of itself.
    fn info(&self) -> &SubjectInfo;

    /// Makes keys and `inputs` different inputs for a case; nothing of this is timed.
    ///
    /// # Errors
    /// [`SubjectError`].
    fn prepare(
        &mut self,
        case: &str,
        params: &Params,
        inputs: u32,
    ) -> Result<Box<dyn Prepared + '_>, SubjectError>;
}

/// A case that is ready to run.
pub trait Prepared {
    /// Checks the results, before anything is timed.
    ///
    /// # Errors
    /// [`SubjectError`].
    fn check(&mut self) -> Result<Checked, SubjectError>;

    /// Does the work `iterations` times, with one input after the other, and tells how long it
    /// took.
    ///
    /// # Errors
    /// [`SubjectError`].
    fn run(&mut self, iterations: u32) -> Result<Elapsed, SubjectError>;

    /// Returns true if the work is done in this process, so that its allocations can be counted.
    fn is_in_process(&self) -> bool {
        false
    }

    /// Threads that share the work of an iteration.
    fn threads(&self) -> usize {
        1
    }

    /// Figures of the suite's own, asked for after the last round: bytes on the wire, round trips,
    /// a rate.
    ///
    /// # Errors
    /// [`SubjectError`]; the times stay.
    fn extra(&mut self) -> Result<Vec<Extra>, SubjectError> {
        Ok(Vec::new())
    }
}

/// A figure beyond time.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::exhaustive_structs, reason = "written out by each suite")]
pub struct Extra {
    /// Its name in rows.
    pub metric: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// The better direction: less or more.
    pub better: Better,
    /// Values that were found, in that unit; a single value is exact.
    pub samples: Vec<f64>,
}

/// Result of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the answer of the peer protocol")]
pub struct Checked {
    /// True if sealed content opens to the same content.
    pub round_trip: bool,
    /// A changed bit is refused; `None` for a subject that does not claim it.
    pub tamper_refused: Option<bool>,
    /// Exact length of one output.
    pub sealed_bytes: Option<u64>,
}

impl Checked {
    /// Why this subject must not be timed, if so.
    #[must_use]
    pub fn objection(&self) -> Option<&'static str> {
        match self {
            Self { round_trip: false, .. } => Some("what it sealed did not open to the same"),
            Self { tamper_refused: Some(false), .. } => Some("it opened a changed message"),
            _ => None,
        }
    }
}

impl SubjectError {
    /// Returns true if the process of the subject is gone. The next use then pays for a start.
    #[must_use]
    pub fn ended_process(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Protocol(_))
    }
}

/// Why a subject gave no figure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubjectError {
    /// It failed, or could not be started.
    Failed(String),
    /// Its process ended or did not answer.
    Lost(String),
    /// It answered what was not asked; its process was ended.
    Protocol(String),
    /// It has no such case.
    Unsupported(String),
}

impl fmt::Display for SubjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) => write!(f, "failed: {why}"),
            Self::Lost(why) => write!(f, "was lost: {why}"),
            Self::Protocol(why) => write!(f, "spoke out of protocol: {why}"),
            Self::Unsupported(why) => write!(f, "does not do this: {why}"),
        }
    }
}

impl core::error::Error for SubjectError {}

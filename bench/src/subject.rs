//! The interface of subjects, which are the implementations that are measured.

use core::error::Error;
use core::fmt;

use crate::case::Case;
use crate::clock::Elapsed;
use crate::record::{Better, SubjectInfo};

/// Reason why there is no figure. Everything but a [`SubjectError`] is a failure of the subject.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Prepares a case with a number of inputs.
type Prepare = dyn FnMut(&Case, u32) -> Result<Box<dyn Prepared>, Failure>;

/// An implementation of the cases of a suite.
pub struct Subject {
    /// The subject's description of itself.
    pub info: SubjectInfo,
    prepare: Box<Prepare>,
}

impl Subject {
    /// Creates a subject from the function that prepares a case.
    pub fn new(
        info: SubjectInfo,
        prepare: impl FnMut(&Case, u32) -> Result<Box<dyn Prepared>, Failure> + 'static,
    ) -> Self {
        Self { info, prepare: Box::new(prepare) }
    }

    /// Creates keys and `inputs` different inputs for a case. This is not timed.
    ///
    /// # Errors
    /// [`SubjectError::Unsupported`] if the subject has no such case; otherwise the reason why it
    /// cannot be prepared.
    pub fn prepare(&mut self, case: &Case, inputs: u32) -> Result<Box<dyn Prepared>, Failure> {
        (self.prepare)(case, inputs)
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subject").field(&self.info).finish()
    }
}

/// A prepared case of a subject.
pub trait Prepared {
    /// Checks the results, before anything is timed.
    ///
    /// # Errors
    /// Fails if the subject cannot do the work. A wrong result is reported in [`Checked`] instead.
    fn check(&mut self) -> Result<Checked, Failure>;

    /// Does the work once and returns its time.
    ///
    /// # Errors
    /// Fails if the subject fails, if its process ends, or if the case is not timed.
    fn once(&mut self) -> Result<Elapsed, Failure> {
        Err(unsupported("this case is not timed"))
    }

    /// Does the work `iterations` times, with one input after the other. Returns the time of all
    /// iterations.
    ///
    /// # Errors
    /// Fails as [`Self::once`].
    fn run(&mut self, iterations: u32) -> Result<Elapsed, Failure> {
        Elapsed::sum(iterations, || self.once())
    }

    /// Returns true if the work is done in this process, so that its allocations can be counted.
    fn is_in_process(&self) -> bool {
        false
    }

    /// Returns the number of threads that share the work of an iteration.
    fn threads(&self) -> usize {
        1
    }

    /// Returns figures of the suite's own, such as bytes on the wire, round trips or a rate. Called
    /// once, after the last round.
    ///
    /// # Errors
    /// Fails if a figure cannot be measured. The times that were measured are kept.
    fn extra(&mut self) -> Result<Vec<Extra>, Failure> {
        Ok(Vec::new())
    }
}

/// A figure other than time.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::exhaustive_structs, reason = "written out by tests")]
pub struct Extra {
    /// Name of the metric in rows.
    pub metric: &'static str,
    /// Unit of the samples.
    pub unit: &'static str,
    /// The better direction: less or more.
    pub better: Better,
    /// Measured values in that unit. A single value is exact.
    pub samples: Vec<f64>,
}

impl Extra {
    /// Creates a figure of which less is better.
    pub fn less(metric: &'static str, unit: &'static str, samples: Vec<f64>) -> Self {
        Self { metric, unit, better: Better::Less, samples }
    }

    /// Creates a figure of which more is better.
    pub fn more(metric: &'static str, unit: &'static str, samples: Vec<f64>) -> Self {
        Self { metric, unit, better: Better::More, samples }
    }
}

/// Result of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the answer of the peer protocol")]
pub struct Checked {
    /// True if sealed content opens to the same content.
    pub round_trip: bool,
    /// True if a changed bit is refused; `None` for a subject that does not claim it.
    pub tamper_refused: Option<bool>,
    /// Exact length of one output in bytes.
    pub sealed_bytes: Option<u64>,
}

impl Checked {
    /// Creates the result of a check that says nothing about changed content.
    pub(crate) fn round_trip(round_trip: bool) -> Self {
        Self { round_trip, ..Self::default() }
    }

    /// Returns the reason why this subject must not be timed, if there is one.
    #[must_use]
    pub fn objection(&self) -> Option<&'static str> {
        match self {
            Self { round_trip: false, .. } => Some("what it sealed did not open to the same"),
            Self { tamper_refused: Some(false), .. } => Some("it opened a changed message"),
            _ => None,
        }
    }
}

/// Reason why a subject gave no figure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubjectError {
    /// The subject failed or could not be started.
    Failed(String),
    /// The subject's process ended or did not answer in time.
    Lost(String),
    /// The subject violated the protocol; its process was ended.
    Protocol(String),
    /// The subject does not support the case.
    Unsupported(String),
}

impl SubjectError {
    /// Returns true if the process of the subject has ended. The next use then includes a start.
    #[must_use]
    pub fn ended_process(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Protocol(_))
    }
}

impl From<Failure> for SubjectError {
    fn from(failure: Failure) -> Self {
        match failure.downcast::<Self>() {
            Ok(error) => *error,
            Err(other) => Self::Failed(other.to_string()),
        }
    }
}

/// Returns the failure of a subject that does not support a case.
pub(crate) fn unsupported(why: impl Into<String>) -> Failure {
    SubjectError::Unsupported(why.into()).into()
}

impl fmt::Display for SubjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) => write!(f, "failed: {why}"),
            Self::Lost(why) => write!(f, "was lost: {why}"),
            Self::Protocol(why) => write!(f, "violated the protocol: {why}"),
            Self::Unsupported(why) => write!(f, "does not do this: {why}"),
        }
    }
}

impl Error for SubjectError {}

//! Steps of a demonstration.

use core::time::Duration;
use std::time::Instant;

/// Result of one step of the demonstration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Something must work, and did.
    Done,
    /// Something must be refused, and was.
    Refused,
    /// Something must work and did not, or must be refused and was not.
    Failed,
}

impl Outcome {
    /// One word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// One step of the demonstration.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Step {
    /// Title of the step.
    pub title: String,
    /// Result of the step.
    pub outcome: Outcome,
    /// In figures or words.
    pub detail: String,
    /// Duration of the step.
    pub time: Duration,
}

/// A step has failed and was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "it says all")]
pub struct StepFailed;

/// Steps that were taken, in their order.
#[allow(missing_debug_implementations, reason = "it holds a function")]
pub struct Steps<'a> {
    taken: Vec<Step>,
    show: &'a mut dyn FnMut(&Step),
}

impl<'a> Steps<'a> {
    /// Begins. `show` is called with each step when it is over.
    pub fn new(show: &'a mut dyn FnMut(&Step)) -> Self {
        Self { taken: Vec::new(), show }
    }

    /// Takes a step that must work. It returns its result in figures or words, or the reason of its
    /// failure.
    ///
    /// # Errors
    /// [`StepFailed`] if it did not work.
    pub fn done(
        &mut self,
        title: &str,
        step: impl FnOnce() -> Result<String, String>,
    ) -> Result<(), StepFailed> {
        self.take(title, Outcome::Done, step)
    }

    /// Takes a step that must be refused. It returns the refusal in figures or words, or else what
    /// happened instead.
    ///
    /// # Errors
    /// [`StepFailed`] if it was not refused.
    pub fn refused(
        &mut self,
        title: &str,
        step: impl FnOnce() -> Result<String, String>,
    ) -> Result<(), StepFailed> {
        self.take(title, Outcome::Refused, step)
    }

    /// All steps.
    #[must_use]
    pub fn into_vec(self) -> Vec<Step> {
        self.taken
    }

    fn take(
        &mut self,
        title: &str,
        expected: Outcome,
        step: impl FnOnce() -> Result<String, String>,
    ) -> Result<(), StepFailed> {
        let start = Instant::now();
        let shown = step();
        let time = start.elapsed();
        let (outcome, detail) = match shown {
            Ok(detail) => (expected, detail),
            Err(why) => (Outcome::Failed, why),
        };
        let step = Step { title: title.into(), outcome, detail, time };
        (self.show)(&step);
        self.taken.push(step);
        if outcome == Outcome::Failed { Err(StepFailed) } else { Ok(()) }
    }
}

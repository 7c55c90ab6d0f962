//! What is measured, as data: one suite for each station.

use crate::record::Params;

pub mod envelope;

/// How much of a suite is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Extent {
    /// Under a minute: one row of each table.
    Quick,
    /// Every table, as far as it was published.
    #[default]
    Default,
    /// Also what takes long with slow peers.
    Full,
}

impl Extent {
    /// Its name in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Default => "default",
            Self::Full => "full",
        }
    }

    /// Rounds in which subjects take turns.
    pub(crate) fn rounds(self) -> usize {
        if self == Self::Quick { 15 } else { 41 }
    }

    /// Seconds after which a case gets no further round, as long as it has five.
    pub(crate) fn seconds_a_case(self) -> f64 {
        match self {
            Self::Quick => 3.0,
            Self::Default => 20.0,
            Self::Full => 120.0,
        }
    }
}

/// One case with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Case {
    /// The suite.
    pub suite: &'static str,
    /// Its name in docs/spec/bench-peer.md.
    pub case: &'static str,
    /// Its parameters.
    pub params: Params,
}

/// Suites by name.
pub const SUITES: &[(&str, &str)] =
    &[("envelope", "one sender, a message or file sealed to a group; station 1")];

/// The cases of a suite, or `None` if there is no such suite.
#[must_use]
pub fn cases(suite: &str, extent: Extent) -> Option<Vec<Case>> {
    match suite {
        "envelope" => Some(envelope::cases(extent)),
        _ => None,
    }
}

//! The measured cases, as data: one suite for each station.

use core::ops::RangeInclusive;

pub use crate::case::Case;
use crate::case::MIN_ROUNDS;

pub mod codec;
pub mod envelope;
pub mod node;
pub mod nostr;
pub mod s3;
pub mod sessions;
pub mod transport;

/// The extent of a run of a suite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Extent {
    /// A few minutes: one row of each table.
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

    /// Seconds after which a case gets no further round, if it has as many as it must.
    pub(crate) fn seconds_a_case(self) -> f64 {
        match self {
            Self::Quick => 3.0,
            Self::Default => 10.0,
            Self::Full => 120.0,
        }
    }
}

/// One station's part of the benchmark. A new one is a module below this one that gives such a
/// value, and its lines in [`SUITES`] and [`STATIONS`](crate::stations::STATIONS).
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Suite {
    /// Its name for `--suite` and in rows.
    pub name: &'static str,
    /// The work that it measures, described for people.
    pub about: &'static str,
    pub(crate) cases: fn(Extent) -> Vec<Case>,
    /// Cases whose output has a length that deserves a row.
    pub(crate) sized: &'static [&'static str],
    /// Those of them that are not timed: a check tells all.
    pub(crate) untimed: &'static [&'static str],
    /// Subjects of ours that are compared with all others, round by round.
    pub(crate) compared: &'static [&'static str],
    /// Subjects that do less than the case, as what it is measured by: nobody loses to them.
    pub(crate) floors: &'static [&'static str],
    /// Parameters over which time is fitted. Figures of a case are laid out along the first.
    pub(crate) grows_by: &'static [Growing],
    /// Notes that a reader of the figures needs: case and note.
    pub(crate) notes: &'static [(&'static str, &'static str)],
    /// Rounds of a case at least, however long they take, and at most, where the extent's are too
    /// many.
    pub(crate) rounds: fn(Extent, &Case) -> RangeInclusive<usize>,
}

/// For suites whose cases are short.
fn all_rounds(_: Extent, _: &Case) -> RangeInclusive<usize> {
    MIN_ROUNDS..=usize::MAX
}

/// A parameter that grows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growing {
    pub(crate) parameter: &'static str,
    /// Amount of the parameter that is one unit for people.
    pub(crate) unit: u32,
    /// One unit, with its article.
    pub(crate) one: &'static str,
    /// Many of it.
    pub(crate) many: &'static str,
}

/// All suites.
pub static SUITES: &[&Suite] = &[
    &envelope::SUITE,
    &codec::SUITE,
    &transport::SUITE,
    &s3::SUITE,
    &nostr::SUITE,
    &sessions::SUITE,
    &node::SUITE,
];

impl Suite {
    /// The suite of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        SUITES.iter().copied().find(|suite| suite.name == name)
    }

    /// Its cases.
    #[must_use]
    pub fn cases(&self, extent: Extent) -> Vec<Case> {
        (self.cases)(extent)
    }
}

impl core::fmt::Debug for Suite {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Suite").field("name", &self.name).finish_non_exhaustive()
    }
}

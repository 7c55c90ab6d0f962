//! The measured cases, as data: one suite for each component.

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
    /// All published tables.
    #[default]
    Default,
    /// Also cases that take long with slow peers.
    Full,
}

impl Extent {
    /// Returns the name of the extent in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Default => "default",
            Self::Full => "full",
        }
    }

    /// Returns the largest number of rounds of a case.
    pub(crate) fn rounds(self) -> usize {
        if self == Self::Quick { 15 } else { 41 }
    }

    /// Returns the seconds after which a case gets no further round, once it has the least number
    /// of rounds.
    pub(crate) fn seconds_a_case(self) -> f64 {
        match self {
            Self::Quick => 3.0,
            Self::Default => 10.0,
            Self::Full => 120.0,
        }
    }
}

/// One component's cases. To add a suite, add a module below this one that defines such a value,
/// and its lines in [`SUITES`] and [`STATIONS`](crate::stations::STATIONS).
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Suite {
    /// Name of the suite for `--suite` and in rows.
    pub name: &'static str,
    /// The work that it measures, described for people.
    pub about: &'static str,
    pub(crate) cases: fn(Extent) -> Vec<Case>,
    /// Cases that have a row for the length of their output.
    pub(crate) sized: &'static [&'static str],
    /// Cases that are not timed: all their figures come from the check or from extra figures.
    pub(crate) untimed: &'static [&'static str],
    /// Our subjects that are compared with all others, round by round.
    pub(crate) compared: &'static [&'static str],
    /// Subjects that do less than the case and serve as a lower bound, so that no subject loses to
    /// them.
    pub(crate) floors: &'static [&'static str],
    /// Parameter along which tables lay out figures.
    pub(crate) axis: &'static str,
    /// Notes that a reader of the figures needs: case and note.
    pub(crate) notes: &'static [(&'static str, &'static str)],
    /// Least and largest number of rounds of a case. The least number is measured however long it
    /// takes; the largest applies if the extent has more rounds.
    pub(crate) rounds: fn(Extent, &Case) -> RangeInclusive<usize>,
}

/// Rounds of suites whose cases are short.
fn all_rounds(_: Extent, _: &Case) -> RangeInclusive<usize> {
    MIN_ROUNDS..=usize::MAX
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
    /// Returns the suite of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        SUITES.iter().copied().find(|suite| suite.name == name)
    }

    /// Returns the cases of the suite for that extent.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_extent_contains_the_smaller_one_and_begins_with_a_timed_case() {
        for suite in SUITES {
            let [quick, default, full] =
                [Extent::Quick, Extent::Default, Extent::Full].map(|it| suite.cases(it));
            assert!(quick.iter().all(|case| default.contains(case)), "{}", suite.name);
            assert!(default.iter().all(|case| full.contains(case)), "{}", suite.name);
            // The noise floor is measured in the first case of a name.
            assert!(!suite.untimed.contains(&quick[0].case), "{}", suite.name);
        }
    }
}

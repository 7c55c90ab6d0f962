//! A suite's part of a report.

use super::document::{Document, Text};
use super::figures::{Case, Figures};
use super::goals::Goal;
use crate::suite::Suite;

/// A suite and its part of the report.
#[derive(Clone, Copy)]
pub(crate) struct View {
    pub(crate) suite: &'static Suite,
    pub(crate) report: &'static dyn SuiteReport,
}

impl core::fmt::Debug for View {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("View").field("suite", &self.suite).finish_non_exhaustive()
    }
}

/// The part of a report that a suite writes. The rest (banners, losses, all subjects beside each other, memory,
/// method) is the same for all.
pub(crate) trait SuiteReport: Sync {
    /// The summary, for a reader of one paragraph.
    fn summary(&self, figures: &Figures<'_>) -> Text;

    /// Below "Headline figures".
    fn headlines(&self, document: &mut Document, figures: &Figures<'_>);

    /// The goals of the suite.
    fn goals(&self, _: &Figures<'_>) -> Vec<Goal> {
        Vec::new()
    }

    /// Why goals were missed, as far as the figures of the run tell.
    fn why_missed(&self, _: &mut Document, _: &Figures<'_>) {}

    /// Why `other` was ahead in a metric of a case, as far as that is not a matter of properties.
    fn why_lost(&self, _case: &Case, _metric: &str, _other: &str) -> Option<&'static str> {
        None
    }

    /// Sections of its own: published tables, growth.
    fn sections(&self, document: &mut Document, figures: &Figures<'_>);

    /// Returns true if subjects that do this case have properties at all: where none protects anything, they
    /// do not differ in it.
    fn protects(&self, _: &Case) -> bool {
        true
    }

    /// The cases whose ratios are drawn.
    fn main_cases(&self) -> Vec<Case> {
        Vec::new()
    }

    /// Below "What each property costs".
    fn prices(&self, _: &mut Document, _: &Figures<'_>) {}

    /// Below "Sizes".
    fn sizes(&self, _: &mut Document, _: &Figures<'_>) {}
}

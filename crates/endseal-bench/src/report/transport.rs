//! The report of station 2, the wire: two ends that know each other's keys.

use super::SuiteReport;
use super::document::{Document, Text};
use super::figures::Figures;

/// Its part of a report.
#[derive(Debug)]
pub(crate) struct TransportReport;
impl SuiteReport for TransportReport {
    fn summary(&self, _: &Figures<'_>) -> Text {
        Text::new()
    }
    fn headlines(&self, _: &mut Document, _: &Figures<'_>) {}
    fn sections(&self, _: &mut Document, _: &Figures<'_>) {}
}

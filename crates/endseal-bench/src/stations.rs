//! All stations: each suite with its subjects and its part of the report.

use crate::ours;
use crate::report::codec::CodecReport;
use crate::report::envelope::EnvelopeReport;
use crate::report::s3::S3Report;
use crate::report::sessions::SessionsReport;
use crate::report::transport::TransportReport;
use crate::report::view::{SuiteReport, View};
use crate::subject::Subject;
use crate::suite::{Suite, codec, envelope, s3, sessions, transport};

/// A suite with the code that belongs to it.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Station {
    /// Its data.
    pub suite: &'static Suite,
    subjects: fn() -> Vec<Box<dyn Subject>>,
    pub(crate) view: View,
}

/// All stations, in the order of reports.
pub static STATIONS: &[Station] = &[
    station(&envelope::SUITE, ours::envelope::subjects, &EnvelopeReport),
    station(&codec::SUITE, ours::codec::subjects, &CodecReport),
    station(&transport::SUITE, ours::transport::subjects, &TransportReport),
    station(&s3::SUITE, ours::s3::subjects, &S3Report),
    station(&sessions::SUITE, ours::sessions::subjects, &SessionsReport),
];

const fn station(
    suite: &'static Suite,
    subjects: fn() -> Vec<Box<dyn Subject>>,
    report: &'static dyn SuiteReport,
) -> Station {
    Station { suite, subjects, view: View { suite, report } }
}

impl Station {
    /// The station of a suite.
    #[must_use]
    pub fn find(suite: &str) -> Option<&'static Self> {
        STATIONS.iter().find(|station| station.suite.name == suite)
    }

    /// endseal's own subjects in it.
    #[must_use]
    pub fn subjects(&self) -> Vec<Box<dyn Subject>> {
        (self.subjects)()
    }
}

impl core::fmt::Debug for Station {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Station").field("suite", &self.suite).finish_non_exhaustive()
    }
}

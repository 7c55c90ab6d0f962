//! The measured components: each suite with its subjects and its part of the report.

use std::sync::LazyLock;

use crate::ours;
use crate::report::content::Content;
use crate::subject::Subject;
use crate::suite::{Suite, codec, envelope, node, nostr, s3, sessions, transport};

/// A component: its suite, with the code and the report's content for it.
#[non_exhaustive]
pub struct Station {
    /// Suite with the cases of the component.
    pub suite: &'static Suite,
    subjects: fn() -> Vec<Box<dyn Subject>>,
    pub(crate) content: LazyLock<Content>,
}

macro_rules! station {
    ($suite:ident) => {
        Station {
            suite: &$suite::SUITE,
            subjects: ours::$suite::subjects,
            content: LazyLock::new(|| {
                Content::read(include_str!(concat!("../data/", stringify!($suite), ".toml")))
            }),
        }
    };
}

/// All components, in the order of reports.
pub static STATIONS: [Station; 7] = [
    station!(envelope),
    station!(codec),
    station!(transport),
    station!(s3),
    station!(nostr),
    station!(sessions),
    station!(node),
];

impl Station {
    /// Returns the component of a suite.
    #[must_use]
    pub fn find(suite: &str) -> Option<&'static Self> {
        STATIONS.iter().find(|station| station.suite.name == suite)
    }

    /// Returns endseal's own subjects in the suite.
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

//! `endseal-bench list`

use core::fmt::Write as _;
use std::collections::BTreeSet;

use endseal_bench::ours;
use endseal_bench::peers::PEERS;
use endseal_bench::suite::{Extent, SUITES};
use serde_json::json;

use crate::Outcome;

/// Lists suites, subjects and peers.
pub(crate) fn run() -> Outcome {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut subjects = BTreeSet::new();
    for suite in SUITES.iter() {
        let _ = writeln!(text, "suite {}: {}", suite.name, suite.about);
        for extent in [Extent::Quick, Extent::Default, Extent::Full] {
            let _ = writeln!(text, "  {:8} {} cases", extent.name(), suite.cases(extent).len());
        }
        for own in ours::subjects(suite.name) {
            let _ = writeln!(text, "  subject {}: {}", own.info.subject, own.info.about);
            subjects.insert(own.info.subject);
        }
    }
    for peer in PEERS.iter() {
        let _ = writeln!(text, "peer {}: {}", peer.name, peer.about);
    }
    let json = json!({
        "suites": SUITES.iter().map(|suite| suite.name).collect::<Vec<_>>(),
        "subjects": subjects,
        "peers": PEERS.iter().map(|peer| &peer.name).collect::<Vec<_>>(),
    });
    Outcome { text, json }
}

//! `endseal-bench list`

use core::fmt::Write as _;

use endseal_bench::peers::PEERS;
use endseal_bench::stations::STATIONS;
use endseal_bench::suite::Extent;
use serde_json::json;

use crate::Outcome;
use crate::failure::Failure;

/// Show suites, subjects and peers
#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

#[allow(clippy::unnecessary_wraps, reason = "the shape of all commands")]
pub(crate) fn run(_: &Args) -> Result<Outcome, Failure> {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut ours = Vec::new();
    for station in &STATIONS {
        let suite = station.suite;
        let _ = writeln!(text, "suite {}: {}", suite.name, suite.about);
        for extent in [Extent::Quick, Extent::Default, Extent::Full] {
            let _ = writeln!(text, "  {:8} {} cases", extent.name(), suite.cases(extent).len());
        }
        for own in station.subjects() {
            let _ = writeln!(text, "  subject {}: {}", own.info().subject, own.info().about);
            ours.push(own.info().subject.clone());
        }
    }
    ours.dedup();
    for peer in PEERS {
        let _ = writeln!(text, "peer {}: {}", peer.name, peer.about);
    }
    let json = json!({
        "suites": STATIONS.iter().map(|station| station.suite.name).collect::<Vec<_>>(),
        "subjects": ours,
        "peers": PEERS.iter().map(|peer| peer.name).collect::<Vec<_>>(),
    });
    Ok(Outcome { text, json })
}

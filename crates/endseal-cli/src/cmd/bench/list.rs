//! `endseal bench list`

use core::fmt::Write as _;

use endseal_bench::peers::PEERS;
use endseal_bench::suite::{Extent, SUITES};

use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};

/// Show suites, subjects and peers
#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

#[allow(clippy::unnecessary_wraps, reason = "the shape of all commands")]
pub(crate) fn run(_: &Args, _: &mut Ctx) -> Result<Outcome, Failure> {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut ours = Vec::new();
    for suite in SUITES {
        let _ = writeln!(text, "suite {}: {}", suite.name, suite.about);
        for extent in [Extent::Quick, Extent::Default, Extent::Full] {
            let _ = writeln!(text, "  {:8} {} cases", extent.name(), suite.cases(extent).len());
        }
        for own in suite.subjects() {
            let _ = writeln!(text, "  subject {}: {}", own.info().subject, own.info().about);
            ours.push(own.info().subject.clone());
        }
    }
    ours.dedup();
    for peer in PEERS {
        let _ = writeln!(text, "peer {}: {}", peer.name, peer.about);
    }
    let names = |names: Vec<&str>| Value::Array(names.into_iter().map(Value::from).collect());
    let json = json::object([
        ("suites", names(SUITES.iter().map(|suite| suite.name).collect())),
        ("subjects", names(ours.iter().map(String::as_str).collect())),
        ("peers", names(PEERS.iter().map(|peer| peer.name).collect())),
    ]);
    Ok(Outcome::new(text, json))
}

//! `endseal bench list`

use core::fmt::Write as _;

use endseal_bench::ours::envelope::Envelope;
use endseal_bench::peers::PEERS;
use endseal_bench::subject::Subject as _;
use endseal_bench::suite::{Extent, SUITES, cases};

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
    for (suite, about) in SUITES {
        let _ = writeln!(text, "suite {suite}: {about}");
        for extent in [Extent::Quick, Extent::Default, Extent::Full] {
            let cases = cases(suite, extent).map_or(0, |cases| cases.len());
            let _ = writeln!(text, "  {:8} {cases} cases", extent.name());
        }
    }
    let ours = Envelope::all();
    for envelope in &ours {
        let _ = writeln!(text, "subject {}: {}", envelope.info().subject, envelope.info().about);
    }
    for peer in PEERS {
        let _ = writeln!(text, "peer {}: {}", peer.name, peer.about);
    }
    let names = |names: Vec<&str>| Value::Array(names.into_iter().map(Value::from).collect());
    let json = json::object([
        ("suites", names(SUITES.iter().map(|(name, _)| *name).collect())),
        ("subjects", names(ours.iter().map(|own| own.info().subject.as_str()).collect())),
        ("peers", names(PEERS.iter().map(|peer| peer.name).collect())),
    ]);
    Ok(Outcome::new(text, json))
}

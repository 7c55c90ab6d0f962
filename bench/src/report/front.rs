//! The first page: banners, a chart of each suite, a summary, the headline figures of each suite,
//! and the cases in which endseal is slower.

use std::collections::BTreeSet;

use super::document::{Document, Text};
use super::figures::Figures;
use super::value::Scope;
use super::{charts, losses, markup, table};
use crate::environment::NO_LTO;
use crate::record::Record;
use crate::words;

/// Largest drift of the machine's speed for which the report has no warning.
const DRIFT: f64 = 0.05;
/// Largest share of stolen CPU time for which the report has no warning.
const STEAL: f64 = 0.02;

/// Peers that `peers/rust*/Cargo.toml` builds with link-time optimisation.
const RUST_PEERS: [&str; 3] = ["rust", "iroh", "rust-nostr"];

pub(crate) fn write(document: &mut Document, figures: &Figures<'_>) {
    banners(document, figures.record);
    for part in figures.parts() {
        document.chart(charts::component(figures, &part));
    }
    document.paragraph(summary(figures));
    document.section("Headline figures");
    let parts = figures.parts();
    for part in &parts {
        if parts.len() > 1 {
            document.subsection(part.suite.name);
        }
        let _nothing_measured =
            table::write(document, figures, part.suite.name, &part.content.headlines);
    }
    document.paragraph(
        "Times are medians with their 95 % interval; a factor is the median of the ratios of rounds in \
         which both took turns, with its interval, and \u{201c}≈\u{201d} marks one that was computed from \
         two medians. A factor in italics compares different properties.",
    );
    document.section("Where we lose");
    losses::write(document, figures);
}

fn banners(document: &mut Document, record: &Record) {
    if !record.complete {
        document
            .banner("This run is incomplete: it was interrupted. What it measured stands below.");
    }
    if record.environment.profile != "release" {
        let profile = match record.environment.profile.as_str() {
            "" => "unknown",
            profile => profile,
        };
        document.banner(format!(
            "This is a build of profile {profile}. Its figures for endseal mean nothing; build with \
             --release."
        ));
    }
    let rust = record.arguments.peers.iter().any(|peer| RUST_PEERS.contains(&&**peer));
    if rust && record.environment.lto == NO_LTO {
        document.banner(
            "endseal was built without link-time optimisation, and the peers in Rust with it: for \
             figures beside them, cargo run --profile bench --manifest-path bench/Cargo.toml.",
        );
    }
    if let Some(drift) = record.drift.filter(|drift| drift.abs() > DRIFT) {
        document.banner(format!(
            "This run drifted: the calibration kernel changed by up to {} from its start. Ratios are \
             paired and stand; absolute times are doubtful.",
            words::percent(drift.abs())
        ));
    }
    if record.environment.steal > STEAL {
        document.banner(format!(
            "The hypervisor gave {} of the CPU time to others during the run.",
            words::percent(record.environment.steal)
        ));
    }
    if record.noise_floors.is_empty() && !record.rows.is_empty() {
        document.banner(
            "No subject was measured against itself, so there is no noise floor: small differences \
             may be noise.",
        );
    }
}

fn summary(figures: &Figures<'_>) -> Text {
    let record = figures.record;
    let mut text = Text::new();
    for part in figures.parts() {
        let scope = Scope { suite: part.suite.name.into(), ..Scope::default() };
        let mut clauses = part.content.summary.iter();
        let first = clauses.next().and_then(|clause| markup::filled(clause, &scope, figures));
        let Some(first) = first else {
            text = text.say(format!("This run has no headline figure of {}. ", part.suite.name));
            continue;
        };
        text = text.join(first);
        for clause in clauses.filter_map(|clause| markup::filled(clause, &scope, figures)) {
            text = text.join(clause);
        }
        text = text.say(". ");
    }
    let measured: BTreeSet<&str> = record.rows.iter().map(|row| &*row.subject).collect();
    text = text.say(format!("{} measured", words::plural(measured.len(), "subject")));
    if !record.skipped.is_empty() {
        let skipped = record.skipped.len();
        text = text.say(format!(", {skipped} skipped (see \u{201c}Not measured\u{201d})"));
    }
    text.say(". ").say(machine(record))
}

/// Describes the machine and the build: "AMD EPYC, 2 CPUs, with the vector kernel; endseal 0.1.0,
/// 2026-11-20."
fn machine(record: &Record) -> String {
    let environment = &record.environment;
    let mut parts = Vec::new();
    if !environment.cpu.is_empty() {
        parts.push(environment.cpu.clone());
    }
    if environment.cpus > 0 {
        parts.push(words::plural(environment.cpus, "CPU"));
    }
    match environment.x25519.as_str() {
        "Ifma" => parts.push("vector kernel in use".into()),
        "Portable" => parts.push("no vector kernel on this CPU".into()),
        _ => {}
    }
    if environment.started > 0 {
        parts.push(words::date(environment.started));
    }
    if !record.extent.is_empty() {
        parts.push(format!("extent {}", record.extent));
    }
    if parts.is_empty() { String::new() } else { format!("Machine: {}.", parts.join(", ")) }
}

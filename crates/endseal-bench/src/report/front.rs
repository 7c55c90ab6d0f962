//! The first page: banners, one paragraph, the headline figures of each suite, and where we lose.

use std::collections::BTreeSet;

use super::document::{Document, Text};
use super::figures::{Case, Figures, MEMBERS, OURS};
use super::losses;
use crate::environment::NO_LTO;
use crate::record::{Params, Record, Row};
use crate::words;

/// A drift beyond this makes a run doubtful.
const DRIFT: f64 = 0.05;
/// The same for CPU time that the hypervisor gave to others.
const STEAL: f64 = 0.02;

/// Peers whose build is set in `peers/rust*/Cargo.toml`: optimised while it is linked.
const RUST_PEERS: [&str; 2] = ["rust", "iroh"];

pub(crate) fn write(document: &mut Document, figures: &Figures<'_>) {
    banners(document, figures.record);
    document.paragraph(summary(figures));
    document.section("Headline figures");
    headlines(document, figures);
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
             figures beside them, cargo run --profile bench -p endseal-bench.",
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
    if record.noise_floor.is_none() && !record.rows.is_empty() {
        document.banner(
            "No subject was measured against itself, so there is no noise floor: small differences \
             may be noise.",
        );
    }
}

fn summary(figures: &Figures<'_>) -> Text {
    let record = figures.record;
    let mut text = Text::new();
    for view in figures.views() {
        text = text.join(view.report.summary(figures)).say(" ");
    }
    let measured: BTreeSet<&str> = record.rows.iter().map(|row| &*row.subject).collect();
    let measured = measured.len();
    text = text.say(format!("{} measured", words::plural(measured, "subject")));
    let skipped = record.skipped.len();
    if skipped > 0 {
        text = text.say(format!(", {} skipped (see \u{201c}Not measured\u{201d})", skipped));
    }
    if let Some(floors) = figures.noise_floors() {
        text =
            text.say(format!("; differences below {floors} are noise and are not reported as any"));
    }
    text.say(". ").say(machine(record))
}

/// The headline figures of each suite, under its name where there are several.
fn headlines(document: &mut Document, figures: &Figures<'_>) {
    let views = figures.views();
    for view in &views {
        if views.len() > 1 {
            document.subsection(view.suite.name);
        }
        view.report.headlines(document, figures);
    }
}

/// "AMD EPYC, 2 CPUs, with the vector kernel; endseal 0.1.0, 2026-11-20."
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

/// "seed-noble against endseal: lacks sender."
pub(crate) fn differs(figures: &Figures<'_>, other: &str) -> Option<String> {
    let difference = figures.difference(OURS, other)?;
    Some(format!("{} beside {OURS}: {difference}.", words::tame(other)))
}

/// A time, which clock if it is not the usual one, and how many threads if there are several.
pub(crate) fn time_text(row: &Row) -> Text {
    let text = Text::from(words::time(row.median));
    let text = if row.metric == "cpu" { text.say(" CPU") } else { text };
    match row.threads {
        Some(threads) => text.say(format!(" on {}", words::plural(threads, "thread"))),
        None => text,
    }
}

/// The case of `count` messages at once that was measured; of several, the one for 100 members.
pub(crate) fn many(figures: &Figures<'_>, name: &str, count: u64) -> Option<Case> {
    let has = |params: &Params| params.get("count") == Some(&count);
    let cases = figures.timed_cases().into_iter();
    let mut found: Vec<&Case> = cases
        .filter(|case| case.suite == "envelope" && case.case == name && has(&case.params))
        .collect();
    found.sort_by_key(|case| case.params.get(MEMBERS) != Some(&100));
    found.first().map(|case| (*case).clone())
}

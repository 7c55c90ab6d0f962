//! The first page: banners, one paragraph, the headline figures of each suite, and where we lose.

use std::collections::{BTreeMap, BTreeSet};

use super::document::{Document, Text};
use super::figures::{Case, Figures, MEMBERS, OURS, axis, is_floor, is_ours, on_axis};
use super::words;
use crate::record::{Better, Params, Record, Row};

/// A drift beyond this makes a run doubtful.
const DRIFT: f64 = 0.05;
/// The same for CPU time that the hypervisor gave to others.
const STEAL: f64 = 0.02;

pub(crate) fn write(document: &mut Document, figures: &Figures<'_>) {
    banners(document, figures.record);
    document.paragraph(summary(figures));
    document.section("Headline figures");
    headlines(document, figures);
    document.section("Where we lose");
    losses(document, figures);
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
    for suite in figures.suites() {
        text = text.join(suite.report.summary(figures)).say(" ");
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
    let suites = figures.suites();
    for suite in &suites {
        if suites.len() > 1 {
            document.subsection(suite.name);
        }
        suite.report.headlines(document, figures);
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

/// Where one subject is ahead of one of ours: all sizes of a case.
struct Lost {
    worst: f64,
    at: Vec<(u64, String)>,
}

/// Metric, case without its size, ours, other.
struct Losses(BTreeMap<(String, Case, String, String), Lost>);

impl Losses {
    fn add(&mut self, metric: &str, case: &Case, pair: (&str, &str), ratio: f64, at: String) {
        let axis = axis(&case.suite);
        let size = case.params.get(axis).copied().unwrap_or_default();
        let mut case = case.clone();
        case.params.remove(axis);
        let key = (metric.to_owned(), case, pair.0.to_owned(), pair.1.to_owned());
        let lost = self.0.entry(key).or_insert(Lost { worst: ratio, at: Vec::new() });
        lost.worst = lost.worst.min(ratio);
        lost.at.push((size, at));
    }
}

fn losses(document: &mut Document, figures: &Figures<'_>) {
    let mut losses = Losses(BTreeMap::new());
    for (case, ours, other, factor) in figures.pairs() {
        let rivals = is_ours(ours) && !is_ours(other) && !is_floor(&case.suite, other);
        if rivals && factor.median < 1.0 && figures.beyond_noise(&case.suite, factor) {
            losses.add(
                "time",
                case,
                (ours, other),
                factor.median,
                figures.factor_words(&case.suite, factor),
            );
        }
    }
    for case in figures.timed_cases() {
        let Some(ours) = figures.time(case, OURS) else { continue };
        let rival = |other: &&str| !is_ours(other) && !is_floor(&case.suite, other);
        for other in figures.subjects().into_iter().filter(rival) {
            let Some(theirs) = figures.time(case, other) else { continue };
            let Some(factor) = figures.factor(case, OURS, other) else { continue };
            let apart = theirs.ci95[1] < ours.ci95[0];
            if factor.ci95.is_none() && apart && figures.beyond_noise(&case.suite, factor) {
                let words = figures.factor_words(&case.suite, factor);
                losses.add("time", case, (OURS, other), factor.median, words);
            }
        }
    }
    for metric in figures.metrics().into_iter().filter(|metric| !["time", "cpu"].contains(metric)) {
        for (case, rows) in figures.with_metric(metric) {
            let Some(ours) = figures.row(case, OURS, metric) else { continue };
            let rival =
                |row: &&&Row| !is_ours(&row.subject) && !is_floor(&case.suite, &row.subject);
            for theirs in rows.iter().filter(rival) {
                // The smaller one is ahead in a cost, and behind in a yield.
                let (small, large) = match ours.better {
                    Better::Less => (*theirs, ours),
                    Better::More => (ours, *theirs),
                };
                if small.ci95[1] < large.ci95[0] {
                    let text =
                        format!("{} against {}", super::value_of(ours), super::value_of(theirs));
                    let ratio = small.median / large.median;
                    losses.add(metric, case, (OURS, &theirs.subject), ratio, text);
                }
            }
        }
    }
    let mut lost: Vec<_> = losses.0.into_iter().collect();
    lost.sort_by(|(_, a), (_, b)| a.worst.total_cmp(&b.worst));
    let peers = figures.subjects().into_iter().any(|subject| !is_ours(subject));
    if lost.is_empty() {
        document.paragraph(if peers {
            "Nowhere in this run: no subject was faster, smaller or leaner than endseal in any case \
             that both were measured in, beyond the noise floor."
        } else {
            "This run has nobody to lose to: only endseal was measured."
        });
        return;
    }
    document.paragraph(
        "Every case in which somebody was ahead of endseal beyond the noise floor, the worst first. \
         A factor below 1 is how fast endseal was beside the other.",
    );
    let mut items: Vec<(Job, Vec<(String, Lost)>)> = Vec::new();
    for ((metric, case, ours, other), lost) in lost {
        let job = Job { metric, case, ours };
        match items.iter_mut().find(|(known, _)| *known == job) {
            Some((_, others)) => others.push((other, lost)),
            None => items.push((job, vec![(other, lost)])),
        }
    }
    document.list(items.into_iter().map(|(job, others)| loss(figures, &job, others)).collect());
}

/// What was lost, at whatever size and to whomever.
#[derive(PartialEq)]
struct Job {
    metric: String,
    case: Case,
    ours: String,
}

fn loss(figures: &Figures<'_>, job: &Job, others: Vec<(String, Lost)>) -> Text {
    let Job { metric, case, ours } = job;
    let what = match &**metric {
        "time" => String::new(),
        "size" => ", bytes".into(),
        "heap-peak" => ", peak heap".into(),
        other => format!(", {}", words::tame(other).replace('_', " ")),
    };
    let mut text = Text::new().strong(format!("{}{what}", case.describe()));
    for (i, (other, lost)) in others.into_iter().enumerate() {
        text = text.say(if i > 0 { " Beside ".into() } else { format!(": {ours} beside ") });
        text = text.say(&other).say(": ");
        let difference = figures.difference_at(case, ours, &other);
        let mut at = lost.at;
        at.sort();
        for (i, (size, words)) in at.into_iter().enumerate() {
            text = if i > 0 { text.say("; ") } else { text };
            text = if difference.is_some() { text.emphasis(words) } else { text.say(words) };
            if size > 0 {
                text = text.say(format!(" at {}", on_axis(axis(&case.suite), size)));
            }
        }
        text = match difference {
            None => text.say("."),
            Some(difference) => text.say(format!(" ({}: {difference}).", words::tame(&other))),
        };
    }
    text
}

//! The first page: banners, one paragraph, the headline figures, and where we lose.

use std::collections::BTreeMap;

use super::document::{Document, Table, Text};
use super::figures::{Case, Figures, MEMBERS, OURS, SEED, is_ours, is_seed};
use super::words;
use crate::record::{Params, Record, Row};

/// A drift beyond this makes a run doubtful.
const DRIFT: f64 = 0.05;
/// The same for CPU time that the hypervisor gave to others.
const STEAL: f64 = 0.02;

pub(super) fn write(document: &mut Document, figures: &Figures<'_>) {
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

/// "1 KB sealed to `members`".
fn seal(members: u64) -> Case {
    Case::envelope("seal", &[(MEMBERS, members), ("bytes", 1024)])
}

fn open(members: u64) -> Case {
    Case::envelope("open", &[(MEMBERS, members), ("bytes", 1024)])
}

fn summary(figures: &Figures<'_>) -> Text {
    let record = figures.record;
    let case = seal(100);
    let mut text = Text::new();
    match figures.time(&case, OURS) {
        Some(row) => {
            text = text
                .say("On this machine endseal seals 1 KB to 100 people in ")
                .strong(words::time(row.median));
            if let Some(factor) = figures.factor(&case, OURS, SEED) {
                text = text.say(", ").strong(words::factor(factor.median, None));
                text = text.say(" as fast as the seed's own method run beside it");
            }
            if let Some(row) = figures.time(&open(100), OURS) {
                text = text.say("; one of them opens it in ").strong(words::time(row.median));
            }
            if let Some(bytes) = figures.bytes_per_member(OURS) {
                text = text.say(format!("; each adds {} to the message", words::bytes(bytes)));
            }
            text = text.say(". ");
        }
        None => text = text.say("This run did not measure sealing 1 KB to 100 people. "),
    }
    let measured = figures.subjects().len();
    text = text.say(format!("{} measured", words::plural(measured, "subject")));
    let skipped = record.skipped.len();
    if skipped > 0 {
        text = text.say(format!(", {} skipped (see \u{201c}Not measured\u{201d})", skipped));
    }
    if let Some(floor) = record.noise_floor {
        let floor = words::fine_percent(floor);
        text =
            text.say(format!("; differences below {floor} are noise and are not reported as any"));
    }
    text.say(". ").say(machine(record))
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

/// What a line of the headline table shows.
struct Headline {
    job: &'static str,
    cases: Vec<Case>,
}

fn headlines(document: &mut Document, figures: &Figures<'_>) {
    let backlog = many(figures, "open_many", 100);
    let jobs = [
        Headline { job: "Seal 1 KB to 100 people", cases: vec![seal(100)] },
        Headline { job: "Seal 1 KB to 1,000 people", cases: vec![seal(1000)] },
        Headline { job: "Open it as one of 100", cases: vec![open(100)] },
        Headline { job: "Open a backlog of 100", cases: backlog.into_iter().collect() },
    ];
    let mut table = Table::new(
        "",
        &[
            "Job",
            "endseal here",
            "the seed's method here",
            "factor",
            "best peer here",
            "factor",
            "share of a 50 ms round trip",
        ],
    );
    let none = Text::not_measured;
    let mut unlike = Vec::new();
    for Headline { job, cases } in jobs {
        let Some((case, ours)) = cases.iter().find_map(|c| Some((c, figures.time(c, OURS)?)))
        else {
            table.row(vec![job.into(), none(), none(), "–".into(), none(), "–".into(), "–".into()]);
            continue;
        };
        let time = |row: Option<&Row>| row.map_or_else(none, time_text);
        let peer = figures.best_peer(case);
        let (peer_text, peer_factor) = match peer {
            None => (none(), "–".into()),
            Some(peer) => {
                let row = figures.time(case, peer);
                let named = Text::from(words::tame(peer)).say(": ").join(time(row));
                (named, figures.factor_text(case, OURS, peer))
            }
        };
        unlike.extend(peer.and_then(|peer| differs(figures, peer)));
        unlike.extend(figures.time(case, SEED).and_then(|_| differs(figures, SEED)));
        table.row(vec![
            job.into(),
            Text::new().strong(words::time_within(ours.median, ours.ci95)),
            time(figures.time(case, SEED)),
            figures.factor_text(case, OURS, SEED),
            peer_text,
            peer_factor,
            words::percent(ours.median / 50e6).into(),
        ]);
    }
    size_headlines(&mut table, figures);
    unlike.sort();
    unlike.dedup();
    document.table(table);
    document.paragraph(
        "Times are medians with their 95 % interval; a factor is the median of the ratios of rounds \
         in which both took turns, with its interval, and \u{201c}≈\u{201d} marks one that could only \
         be computed from two medians. A factor in italics compares different properties.",
    );
    document.list(unlike.into_iter().map(Text::from).collect());
}

/// The two headlines that are bytes.
fn size_headlines(table: &mut Table, figures: &Figures<'_>) {
    let none = Text::not_measured;
    for (job, slope) in [("Message of 1 KB for 100 people", false), ("One more person adds", true)]
    {
        let of = |subject: &str| match slope {
            true => figures.bytes_per_member(subject),
            false => figures.size(100, 1024, subject),
        };
        let ours = of(OURS);
        let cell = |bytes: Option<f64>| bytes.map_or_else(none, |b| words::bytes(b).into());
        let factor = |other: &str| match (ours, of(other)) {
            (Some(ours), Some(theirs)) if ours > 0.0 => {
                let words = words::factor(theirs / ours, None);
                match figures.difference(OURS, other) {
                    Some(_) => Text::new().emphasis(words),
                    None => words.into(),
                }
            }
            _ => "–".into(),
        };
        let subjects = figures.subjects();
        let peers = subjects.iter().filter(|s| !is_ours(s) && !is_seed(s));
        let best = peers
            .filter_map(|peer| of(peer).map(|bytes| (bytes, *peer)))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let named = best.map_or_else(none, |(bytes, peer)| {
            Text::from(words::tame(peer)).say(": ").say(words::bytes(bytes))
        });
        table.row(vec![
            job.into(),
            ours.map_or_else(none, |bytes| Text::new().strong(words::bytes(bytes))),
            cell(of(SEED)),
            factor(SEED),
            named,
            best.map_or("–".into(), |(_, peer)| factor(peer)),
            "–".into(),
        ]);
    }
}

/// "seed-noble against endseal: lacks sender."
pub(super) fn differs(figures: &Figures<'_>, other: &str) -> Option<String> {
    let difference = figures.difference(OURS, other)?;
    Some(format!("{} beside {OURS}: {difference}.", words::tame(other)))
}

/// A time, and which clock if it is not the usual one.
pub(super) fn time_text(row: &Row) -> Text {
    let text = Text::from(words::time(row.median));
    if row.metric == "cpu" { text.say(" CPU") } else { text }
}

/// The case of `count` messages at once that was measured; of several, the one for 100 members.
pub(super) fn many(figures: &Figures<'_>, name: &str, count: u64) -> Option<Case> {
    let has = |params: &Params| params.get("count") == Some(&count);
    let cases = figures.timed_cases().into_iter();
    let mut found: Vec<&Case> = cases
        .filter(|case| case.suite == "envelope" && case.case == name && has(&case.params))
        .collect();
    found.sort_by_key(|case| case.params.get(MEMBERS) != Some(&100));
    found.first().map(|case| (*case).clone())
}

/// Where one subject is ahead of one of ours: all group sizes of a case.
struct Lost {
    worst: f64,
    at: Vec<(u64, String)>,
}

/// Metric, case without members, ours, other.
struct Losses(BTreeMap<(&'static str, Case, String, String), Lost>);

impl Losses {
    fn add(
        &mut self,
        metric: &'static str,
        case: &Case,
        pair: (&str, &str),
        ratio: f64,
        at: String,
    ) {
        let members = case.params.get(MEMBERS).copied().unwrap_or_default();
        let mut case = case.clone();
        case.params.remove(MEMBERS);
        let key = (metric, case, pair.0.to_owned(), pair.1.to_owned());
        let lost = self.0.entry(key).or_insert(Lost { worst: ratio, at: Vec::new() });
        lost.worst = lost.worst.min(ratio);
        lost.at.push((members, at));
    }
}

fn losses(document: &mut Document, figures: &Figures<'_>) {
    let mut losses = Losses(BTreeMap::new());
    for (case, ours, other, factor) in figures.pairs() {
        if is_ours(ours) && !is_ours(other) && factor.median < 1.0 && figures.beyond_noise(factor) {
            losses.add("time", case, (ours, other), factor.median, figures.factor_words(factor));
        }
    }
    for case in figures.timed_cases() {
        let Some(ours) = figures.time(case, OURS) else { continue };
        for other in figures.subjects().into_iter().filter(|other| !is_ours(other)) {
            let Some(theirs) = figures.time(case, other) else { continue };
            let Some(factor) = figures.factor(case, OURS, other) else { continue };
            let apart = theirs.ci95[1] < ours.ci95[0];
            if factor.ci95.is_none() && apart && figures.beyond_noise(factor) {
                let words = figures.factor_words(factor);
                losses.add("time", case, (OURS, other), factor.median, words);
            }
        }
    }
    for metric in ["size", "heap-peak", "allocations"] {
        let of = if metric == "allocations" { words::count } else { words::bytes };
        for (case, rows) in figures.with_metric(metric) {
            let Some(ours) = figures.row(case, OURS, metric) else { continue };
            for theirs in rows.iter().filter(|row| !is_ours(&row.subject)) {
                if theirs.median < ours.median {
                    let text = format!("{} against {}", of(ours.median), of(theirs.median));
                    let ratio = theirs.median / ours.median;
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
    let items = lost.into_iter().map(|((metric, case, ours, other), lost)| {
        loss(figures, (metric, &case), (&ours, &other), lost)
    });
    document.list(items.collect());
}

fn loss(
    figures: &Figures<'_>,
    (metric, case): (&str, &Case),
    pair: (&str, &str),
    lost: Lost,
) -> Text {
    let (ours, other) = pair;
    let what = match metric {
        "time" => "",
        "size" => ", bytes",
        "heap-peak" => ", peak heap",
        _ => ", allocations",
    };
    let mut text = Text::new().strong(format!("{}{what}", case.describe()));
    text = text.say(format!(": {ours} beside {other}: "));
    let difference = figures.difference(ours, other);
    let mut at = lost.at;
    at.sort();
    for (i, (members, words)) in at.into_iter().enumerate() {
        text = if i > 0 { text.say("; ") } else { text };
        text = if difference.is_some() { text.emphasis(words) } else { text.say(words) };
        if members > 0 {
            text = text.say(format!(" at {}", words::plural_members(members)));
        }
    }
    match difference {
        None => text.say("."),
        Some(difference) => text.say(format!(" ({}: {difference}).", words::tame(other))),
    }
}

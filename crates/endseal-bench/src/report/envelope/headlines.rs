//! The headline figures of the envelope.

use super::super::document::{Document, Table, Text};
use super::super::figures::{Case, Figures, OURS, SEED, is_ours, is_seed};
use super::super::front::{differs, many, time_text};
use super::{open, seal};
use crate::record::Row;
use crate::words;

/// What a line of the headline table shows.
struct Headline {
    job: &'static str,
    cases: Vec<Case>,
}

pub(super) fn write(document: &mut Document, figures: &Figures<'_>) {
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

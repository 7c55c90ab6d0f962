//! The headline figures of the codec.

use super::super::document::{Document, Table, Text};
use super::super::figures::{Case, Figures, OURS};
use super::super::front::time_text;
use super::{ARRAY, BASE64, KB8, KB256, blob, bytes, bytes_text, letter, size, text};
use crate::record::Row;
use crate::suite::codec::DIRECT;
use crate::words;

/// What a line of the headline table shows.
struct Headline {
    job: &'static str,
    case: Case,
    ours: &'static str,
}

pub(super) fn write(document: &mut Document, figures: &Figures<'_>) {
    let jobs = [
        Headline { job: "Encode 8 KB of words", case: text("encode", KB8, 1), ours: OURS },
        Headline { job: "Decode it", case: text("decode", KB8, 1), ours: OURS },
        Headline {
            job: "Read 8 KB, three quarters a blob, in place",
            case: blob("decode_borrowed", KB8, 1),
            ours: OURS,
        },
        Headline {
            job: "Encode, frame and decode 8 KB (Direct)",
            case: text("roundtrip", KB8, 3),
            ours: DIRECT,
        },
        Headline {
            job: "Encode, frame and decode 256 KB (Direct)",
            case: text("roundtrip", KB256, 3),
            ours: DIRECT,
        },
        Headline {
            job: "8 KB of one letter, as the seed timed it (Direct)",
            case: letter("roundtrip", KB8, 3),
            ours: DIRECT,
        },
        Headline {
            job: "256 KB of one letter, as the seed timed it (Direct)",
            case: letter("roundtrip", KB256, 3),
            ours: DIRECT,
        },
        Headline {
            job: "Words again: 8 KB, sealed end to end",
            case: text("roundtrip", KB8, 3),
            ours: OURS,
        },
        Headline {
            job: "Words again: 256 KB, sealed end to end",
            case: text("roundtrip", KB256, 3),
            ours: OURS,
        },
    ];
    let head = [
        "Job",
        "endseal here",
        "seed's method here, lists",
        "factor",
        "seed's method here, Base64",
        "factor",
        "best peer here",
        "factor",
    ];
    let mut table = Table::new("", &head);
    let time = |row: Option<&Row>| row.map_or_else(Text::not_measured, time_text);
    for Headline { job, case, ours } in jobs {
        let here = figures.time(&case, ours).map_or_else(Text::not_measured, |row| {
            Text::new().strong(words::time_within(row.median, row.ci95))
        });
        let mut cells = vec![job.into(), here];
        for seed in [ARRAY, BASE64] {
            // A list of numbers cannot be borrowed.
            let seed_does = case.case != "decode_borrowed";
            let theirs = figures.time(&case, seed);
            cells.push(if seed_does { time(theirs) } else { "–".into() });
            cells.push(figures.factor_text(&case, ours, seed));
        }
        let peer = figures.best_peer(&case);
        cells.extend(match peer {
            None => [Text::not_measured(), "–".into()],
            Some(peer) => [
                Text::from(peer).say(": ").join(time(figures.time(&case, peer))),
                figures.factor_text(&case, ours, peer),
            ],
        });
        table.row(cells);
    }
    for (job, layer, ours) in [
        ("Bytes of 8 KB of words, encoded", 1, OURS),
        ("The same in its frame (Direct)", 3, DIRECT),
    ] {
        table.row(sizes(figures, job, &size(KB8, 0, layer), ours));
    }
    document.table(table);
    document.paragraph(
        "Times are medians; a factor is the median of the ratios of rounds in which both took turns, with \
         its 95 % interval, and \u{201c}≈\u{201d} marks one that could only be computed from two \
         medians. A factor in italics compares different properties: Direct leaves encryption to the \
         connection, and Sealed commits to a key of its own. The best peer of Direct seals.",
    );
}

fn sizes(figures: &Figures<'_>, job: &str, case: &Case, ours: &str) -> Vec<Text> {
    let of = |subject: &str| bytes(figures, case, subject);
    let cell = |subject| bytes_text(figures, case, subject).unwrap_or_else(Text::not_measured);
    let factor = |theirs: Option<f64>| match (of(ours), theirs) {
        (Some(ours), Some(theirs)) if ours > 0.0 => words::factor(theirs / ours, None).into(),
        _ => Text::from("–"),
    };
    let smallest = figures.smallest_peer(case);
    let mut cells = vec![Text::from(job), cell(ours)];
    for seed in [ARRAY, BASE64] {
        cells.extend([cell(seed), factor(of(seed))]);
    }
    cells.extend(match smallest {
        None => [Text::not_measured(), "–".into()],
        Some(peer) => [Text::from(peer).say(": ").join(cell(peer)), factor(of(peer))],
    });
    cells
}

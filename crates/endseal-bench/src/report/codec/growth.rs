//! How time grows with the size of a message.

use super::super::chart::Quantity;
use super::super::document::{Document, Table, Text};
use super::super::figures::{Case, Figures, describe_params};
use super::super::growth::{Axes, curves_over};
use crate::record::Growth;
use crate::words;

pub(super) fn write(document: &mut Document, figures: &Figures<'_>) {
    document.section("Growth of encoding");
    for (layer, what) in [(3, "encode, seal, frame and back"), (1, "encode and decode")] {
        let case = round_trip(super::text, layer);
        let title = format!("Time to {what}, words, by bytes (layer {layer})");
        let axes = Axes {
            parameter: "bytes",
            quantity: Quantity::Bytes,
            metric: "time",
            noun: "Time",
            title,
        };
        document.chart(curves_over(figures, &case, axes));
    }
    let mut table = Table::new(
        "Fitted lines: round trip of text, by bytes",
        &["Subject", "fixed", "each KB", "exponent", "in words"],
    );
    let texts: [fn(&str, u64, u64) -> Case; 2] = [super::text, super::letter];
    for (layer, text) in [1, 3].into_iter().flat_map(|layer| texts.map(|text| (layer, text))) {
        let case = round_trip(text, layer);
        let mut rows: Vec<&Growth> =
            figures.record.growth.iter().filter(|it| fits(it, &case)).collect();
        rows.sort_by(|a, b| a.per_unit_ns.total_cmp(&b.per_unit_ns));
        if !rows.is_empty() {
            table.group(describe_params(&case.params).join(", "));
        }
        rows.into_iter().for_each(|growth| table.row(cells(growth)));
    }
    if table.rows.is_empty() {
        document.paragraph("This run has too few sizes to say how anything grows.");
    }
    document.table(table);
    document.paragraph(
        "The seed says of its own method: exponential degradation with message size. A line is fitted \
         by Theil and Sen (the median of the slopes of all pairs), the exponent on logarithms: 1.00 is \
         linear. A little less of it are fixed costs, a little more is memory beyond the nearer caches, \
         for which large messages wait.",
    );
}

/// The case without its size.
fn round_trip(text: fn(&str, u64, u64) -> Case, layer: u64) -> Case {
    let mut case = text("roundtrip", 0, layer);
    case.params.remove("bytes");
    case
}

fn fits(growth: &Growth, case: &Case) -> bool {
    let same = (&*growth.suite, &*growth.case) == ("codec", "roundtrip");
    same && growth.parameter == "bytes" && growth.params == case.params
}

fn cells(growth: &Growth) -> Vec<Text> {
    let signed = |ns: f64| {
        let sign = if ns < 0.0 { "-" } else { "" };
        format!("{sign}{}", words::time(ns.abs()))
    };
    let [low, high] = growth.exponent_ci95;
    // A sentence ends in its verdict: "…: linear".
    let verdict = growth.sentence.rsplit_once(": ").map_or("–", |(_, verdict)| verdict);
    vec![
        Text::from(&*growth.subject),
        signed(growth.fixed_ns).into(),
        signed(growth.per_unit_ns * 1024.0).into(),
        format!("{:.2} ({low:.2}\u{2013}{high:.2})", growth.exponent).into(),
        verdict.into(),
    ]
}

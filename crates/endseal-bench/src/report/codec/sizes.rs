//! Bytes by layer, of those of the fields.

use super::super::chart::{Bar, BarGroup, Bars, Chart, Scale};
use super::super::document::{Document, Table, Text};
use super::super::figures::{Figures, describe_params, is_floor, is_ours};
use super::{KB8, bytes_text, overhead, size};
use crate::suite::codec::{BYTES, DIRECT, raw_of};
use crate::words;

pub(super) fn write(document: &mut Document, figures: &Figures<'_>) {
    document.chart(bars(figures));
    let mut table = Table::new(
        "Bytes of a message, and how many times those of its fields",
        &["Subject", "layer 1: message", "layer 2: sealed", "layer 3: framed"],
    );
    for bytes in BYTES {
        for blob_percent in [0, 75] {
            group(&mut table, figures, bytes, blob_percent);
        }
    }
    if table.rows.is_empty() {
        document.paragraph("This run measured no encodings.");
        return;
    }
    document.table(table);
    document.paragraph(
        "Lengths are exact. The bytes of the fields are text as UTF-8, byte strings as they are, and \
         numbers in 4 or 8 bytes. What a connection adds to layer 3 is not counted.",
    );
}

fn group(table: &mut Table, figures: &Figures<'_>, bytes: u64, blob_percent: u64) {
    let mut rows: Vec<(f64, Vec<Text>)> = Vec::new();
    for subject in figures.subjects() {
        let cells =
            [1, 2, 3].map(|layer| bytes_text(figures, &size(bytes, blob_percent, layer), subject));
        if cells.iter().all(Option::is_none) {
            continue;
        }
        let shares =
            [1, 2, 3].map(|layer| overhead(figures, &size(bytes, blob_percent, layer), subject));
        // What has fewer layers stands first; among them the shorter.
        let known = shares.iter().flatten().count();
        let order = shares.into_iter().flatten().next_back().unwrap_or_default();
        let mut row = vec![Text::from(subject)];
        row.extend(cells.map(|cell| cell.unwrap_or("–".into())));
        rows.push((order + if known == 1 && subject != DIRECT { 0.0 } else { 100.0 }, row));
    }
    if rows.is_empty() {
        return;
    }
    let mut params = size(bytes, blob_percent, 1).params;
    let raw = raw_of(&params).unwrap_or_default();
    params.remove("layer");
    let title = describe_params(&params).join(", ");
    table.group(format!("{title}: {} bytes in its fields", words::integer(raw)));
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    rows.into_iter().for_each(|(_, row)| table.row(row));
}

/// The growth of a message of 8 KB from layer to layer.
fn bars(figures: &Figures<'_>) -> Option<Chart> {
    let layers = [(1, "Layer 1: the message"), (2, "Layer 2: sealed"), (3, "Layer 3: framed")];
    let mut groups = Vec::new();
    let mut description = Vec::new();
    for (layer, title) in layers {
        let size = size(KB8, 0, layer);
        let bar = |subject: &str| {
            let share = overhead(figures, &size, subject)?;
            Some(Bar {
                name: words::tame(subject),
                median: share,
                ci95: [share; 2],
                text: words::fine_factor(share),
                alike: is_ours(subject),
            })
        };
        let subjects = figures.subjects().into_iter().filter(|it| !is_floor("codec", it));
        let mut bars: Vec<Bar> = subjects.filter_map(bar).collect();
        bars.sort_by(|a, b| a.median.total_cmp(&b.median));
        if bars.is_empty() {
            continue;
        }
        let each = bars.iter().map(|bar| format!("{} {}", bar.name, bar.text));
        description.push(format!("{title}: {}.", each.collect::<Vec<_>>().join("; ")));
        groups.push(BarGroup { title: title.into(), bars });
    }
    (!groups.is_empty()).then(|| {
        Chart::Bars(Bars {
            scale: Scale::Ratio,
            title: "Size of a message of 8 KB of text, layer by layer".into(),
            note: "Bytes of the encoding, divided by those of the fields: 1 would be no overhead at all. \
                   In italics: not ours"
                .into(),
            description: format!("Logarithmic axis, from 1 on. {}", description.join(" ")),
            groups,
        })
    })
}

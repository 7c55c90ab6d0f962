//! All codecs beside each other: JSON against binary.

use super::super::document::{Document, Table, Text};
use super::super::figures::{Figures, OURS, describe_params, is_floor, is_ours};
use super::super::front::time_text;
use super::{KB8, KB256, bytes_text, case, size};
use crate::words;

/// What a format is, by its documentation: whether programs of different versions understand each
/// other, and what reads it.
struct Format {
    subject: &'static str,
    evolution: &'static str,
    languages: &'static str,
}

const fn format(subject: &'static str, evolution: &'static str, languages: &'static str) -> Format {
    Format { subject, evolution, languages }
}

const PROTOBUF: &str = "those of Protocol Buffers";

const FORMATS: [Format; 9] = [
    format(OURS, "yes, by number", PROTOBUF),
    format("prost", "yes, by number", PROTOBUF),
    format("buffa", "yes, by number", PROTOBUF),
    format("minicbor", "yes, by index", "those of CBOR"),
    format("postcard", "no", "few"),
    format("bincode2", "no", "few"),
    format("rkyv", "no", "none"),
    format(super::ARRAY, "yes, by name", "all"),
    format(super::BASE64, "yes, by name", "all"),
];

/// What a format gives up for being ahead.
pub(super) fn why_lost(other: &str) -> Option<&'static str> {
    let fixed = |format: &&Format| format.subject == other && format.evolution == "no";
    FORMATS.iter().find(fixed).map(|format| match format.languages {
        "none" => {
            "a format to which no field can be added later, and which no other language reads"
        }
        _ => "a format to which no field can be added later, and which few other languages read",
    })
}

pub(super) fn write(document: &mut Document, figures: &Figures<'_>) {
    document.section("JSON against binary");
    document.paragraph(
        "The message alone (layer 1), by every codec that was measured. Decode makes a message that owns \
         its fields; borrowed, its strings are slices of the encoding. Below a time stands how many times \
         as fast endseal is; below a length, how many times the bytes of the fields it has. Evolution and \
         other languages are by the documentation of each format, and were not tested here.",
    );
    let head = [
        "Codec",
        "encode",
        "decode",
        "borrowed",
        "round trip",
        "bytes",
        "evolution",
        "other languages",
    ];
    let mut table = Table::new("JSON against binary", &head);
    for bytes in [KB8, KB256] {
        for blob_percent in [0, 75] {
            let of = |name: &str| case(name, bytes, blob_percent, 1);
            let mut rows: Vec<(f64, Vec<Text>)> = Vec::new();
            for subject in figures.subjects() {
                let timed = ["encode", "decode", "decode_borrowed", "roundtrip"];
                let times = timed.map(|name| figures.time(&of(name), subject));
                let size = bytes_text(figures, &size(bytes, blob_percent, 1), subject);
                if times.iter().all(Option::is_none) && size.is_none() {
                    continue;
                }
                let cell = |name: &&str| {
                    let case = of(name);
                    let Some(row) = figures.time(&case, subject) else { return "–".into() };
                    if subject == OURS {
                        return Text::new().strong(words::time(row.median));
                    }
                    let text = time_text(row).line_break();
                    text.join(figures.median_factor_text(&case, OURS, subject))
                };
                let mut cells = vec![Text::from(subject)];
                cells.extend(timed.iter().map(cell));
                cells.push(size.unwrap_or("–".into()));
                let known = FORMATS.iter().find(|format| format.subject == subject);
                cells.push(known.map_or("–", |format| format.evolution).into());
                cells.push(known.map_or("–", |format| format.languages).into());
                let median = |i: usize| times[i].map_or(f64::MAX, |row| row.median);
                let order = match subject {
                    subject if is_floor("codec", subject) => 0.0,
                    subject if is_ours(subject) => f64::MIN_POSITIVE,
                    _ => median(0) + median(1),
                };
                rows.push((order, cells));
            }
            rows.sort_by(|a, b| a.0.total_cmp(&b.0));
            if !rows.is_empty() {
                let mut of = of("encode").params;
                of.remove("layer");
                table.group(describe_params(&of).join(", "));
            }
            rows.into_iter().for_each(|(_, cells)| table.row(cells));
        }
    }
    if table.rows.is_empty() {
        document.paragraph("This run measured no codec.");
    }
    document.table(table);
}

//! What a frame and an AEAD cost on top of a message.

use super::super::document::{Document, Table, Text};
use super::super::figures::{Case, Figures, OURS};
use super::super::front::time_text;
use super::{KB8, KB256, bytes, size, text};
use crate::suite::codec::DIRECT;
use crate::words;

const STEPS: [(&str, &str, u64); 4] = [
    ("message (layer 1)", OURS, 1),
    ("in a frame, for a connection that encrypts (Direct, layer 3)", DIRECT, 3),
    ("sealed end to end, committing to its key (layer 2)", OURS, 2),
    ("sealed end to end, in a frame (layer 3)", OURS, 3),
];

/// Our own layers beside each other: the price of a property is what its layer costs more.
pub(super) fn write(document: &mut Document, figures: &Figures<'_>) {
    let mut table = Table::new(
        "A message of text, layer by layer",
        &["What is made ready", "encode", "decode", "round trip", "bytes", "bytes more"],
    );
    for length in [KB8, KB256] {
        let Some(least) = bytes(figures, &size(length, 0, 1), OURS) else { continue };
        table.group(words::size_parameter(length));
        for (what, subject, layer) in STEPS {
            let time = |name| {
                let case: Case = text(name, length, layer);
                figures.time(&case, subject).map_or("–".into(), time_text)
            };
            let bytes = bytes(figures, &size(length, 0, layer), subject);
            let more = bytes.map(|bytes| bytes - least).filter(|more| *more > 0.0);
            table.row(vec![
                what.into(),
                time("encode"),
                time("decode"),
                time("roundtrip"),
                bytes.map_or("–".into(), |bytes| words::bytes(bytes).into()),
                more.map_or(Text::from("–"), |more| words::bytes(more).into()),
            ]);
        }
    }
    if table.rows.is_empty() {
        document.paragraph("This run did not measure the layers of a message.");
        return;
    }
    document.paragraph(
        "Layers of a message beside each other: the price of a property is the difference between two \
         lines. Sealed end to end adds confidentiality, authenticity and commitment against everybody \
         but sender and receiver; Direct relies on the connection for the first two.",
    );
    document.table(table);
}

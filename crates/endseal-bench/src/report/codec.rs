//! The report of station 2 as far as a codec goes: encode, seal, frame, and back.

use super::SuiteReport;
use super::document::{Document, Text};
use super::figures::{Case, Factor, Figures, OURS};
use super::goals::Goal;
use crate::suite::codec::{DIRECT, raw_of};
use crate::words;

mod beside;
mod goals;
mod growth;
mod headlines;
mod prices;
mod published;
mod seed;
mod sizes;

/// The seed's method with byte strings as lists of numbers, which is what was timed.
const ARRAY: &str = "seed-json-array";
/// The same with Base64, which is what was described.
const BASE64: &str = "seed-json-base64";

const KB8: u64 = 8 << 10;
const KB64: u64 = 64 << 10;
const KB256: u64 = 256 << 10;

/// Its part of a report.
#[derive(Debug)]
pub(crate) struct CodecReport;

impl SuiteReport for CodecReport {
    fn summary(&self, figures: &Figures<'_>) -> Text {
        let direct = text("roundtrip", KB8, 3);
        let Some(row) = figures.time(&direct, DIRECT) else {
            return "This run did not measure encoding and decoding 8 KB.".into();
        };
        let mut text = Text::new()
            .say("On this machine endseal encodes, frames and decodes a message of 8 KB of words in ")
            .strong(words::time(row.median));
        for (seed, how) in [(ARRAY, "with lists of numbers"), (BASE64, "with Base64")] {
            if let Some(factor) = figures.factor(&direct, DIRECT, seed) {
                text = text.say(", ").strong(words::factor(factor.median, None));
                text = text.say(format!(" as fast as the seed's three layers of JSON {how}"));
            }
        }
        let published = letter("roundtrip", KB8, 3);
        let of = |seed| figures.factor(&published, DIRECT, seed);
        if let (Some(array), Some(base64)) = (of(ARRAY), of(BASE64)) {
            let words = |factor: Factor| words::factor(factor.median, None);
            text =
                text.say(" (of one letter repeated, which the seed timed: ").strong(words(array));
            text = text.say(" and ").strong(words(base64)).say(")");
        }
        if let Some(row) = figures.time(&direct, OURS) {
            text = text.say("; sealed end to end besides, in ").strong(words::time(row.median));
        }
        if let Some(share) = overhead(figures, &size(KB8, 0, 1), OURS) {
            text = text.say(format!("; it has {} of its fields' bytes", words::fine_factor(share)));
        }
        text.say(".")
    }

    fn headlines(&self, document: &mut Document, figures: &Figures<'_>) {
        headlines::write(document, figures);
    }

    fn goals(&self, figures: &Figures<'_>) -> Vec<Goal> {
        goals::goals(figures)
    }

    fn why_missed(&self, document: &mut Document, figures: &Figures<'_>) {
        goals::why_missed(document, figures);
    }

    fn why_lost(&self, _: &Case, _: &str, other: &str) -> Option<&'static str> {
        beside::why_lost(other)
    }

    fn sections(&self, document: &mut Document, figures: &Figures<'_>) {
        seed::write(document, figures);
        beside::write(document, figures);
        growth::write(document, figures);
    }

    /// A message alone is not protected: only what seals it has properties.
    fn protects(&self, case: &Case) -> bool {
        case.params.get("layer").is_none_or(|layer| *layer > 1)
    }

    fn main_cases(&self) -> Vec<Case> {
        vec![
            text("encode", KB8, 1),
            text("decode", KB8, 1),
            blob("decode_borrowed", KB8, 1),
            text("roundtrip", KB8, 3),
        ]
    }

    fn prices(&self, document: &mut Document, figures: &Figures<'_>) {
        prices::write(document, figures);
    }

    fn sizes(&self, document: &mut Document, figures: &Figures<'_>) {
        sizes::write(document, figures);
    }
}

fn case(name: &str, bytes: u64, blob_percent: u64, layer: u64) -> Case {
    let params = [("bytes", bytes), ("blob_percent", blob_percent), ("layer", layer)];
    let params = params.map(|(name, value)| (name.to_owned(), value)).into();
    Case { suite: "codec".into(), case: name.into(), params }
}

/// A case of a message of words.
fn text(name: &str, bytes: u64, layer: u64) -> Case {
    case(name, bytes, 0, layer)
}

/// A case of a message of one letter repeated, as the published tables have it.
fn letter(name: &str, bytes: u64, layer: u64) -> Case {
    let mut case = text(name, bytes, layer);
    case.params.insert("letter".into(), 1);
    case
}

/// A case of a message of which three quarters are a blob.
fn blob(name: &str, bytes: u64, layer: u64) -> Case {
    case(name, bytes, 75, layer)
}

/// The case that tells a size.
fn size(bytes: u64, blob_percent: u64, layer: u64) -> Case {
    case("wire_size", bytes, blob_percent, layer)
}

/// Bytes of an encoding.
fn bytes(figures: &Figures<'_>, size: &Case, subject: &str) -> Option<f64> {
    figures.row(size, subject, "size").map(|row| row.median)
}

/// How many times the bytes of its fields an encoding has.
fn overhead(figures: &Figures<'_>, size: &Case, subject: &str) -> Option<f64> {
    let raw = super::figures::real(raw_of(&size.params)?);
    Some(bytes(figures, size, subject)? / raw)
}

/// "8,660 B" and, below it, "1.006×".
fn bytes_text(figures: &Figures<'_>, size: &Case, subject: &str) -> Option<Text> {
    let text = Text::from(words::bytes(bytes(figures, size, subject)?));
    let share = overhead(figures, size, subject)?;
    Some(text.line_break().say(words::fine_factor(share)))
}

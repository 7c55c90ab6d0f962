//! What station 2 set out to reach with its codec.

use super::super::document::Document;
use super::super::figures::{Figures, OURS};
use super::super::goals::{Bound, Goal, Measure};
use super::{ARRAY, BASE64, KB8, KB256, letter, overhead, text};
use crate::suite::codec::{BYTES, DIRECT};
use crate::words;

const UNLIKE: &str = "The seed's method at its layer 3, which encrypts; ours at layer 3 for a connection \
    that encrypts (endseal-direct), as the seed planned. Beside endseal, which seals besides, the \
    factors stand in the tables below. The text is the seed's own, one letter repeated, by which the \
    goal was set.";

const WORDS: &str = "Words are what people write, and a decoder reads them more slowly: where a text leaves \
    ASCII, checking its UTF-8 costs more. No goal was set for them, and the factors of all sizes and \
    layers stand in the tables below.";

pub(super) fn goals(figures: &Figures<'_>) -> Vec<Goal> {
    let factor = |case, against| Measure::Factor { case, subject: DIRECT, against };
    let mut goals = Vec::new();
    for (bytes, against, times) in
        [(KB8, ARRAY, 230.0), (KB8, BASE64, 30.0), (KB256, ARRAY, 800.0), (KB256, BASE64, 90.0)]
    {
        let size = words::size_parameter(bytes);
        goals.push(Goal {
            what: format!("Encode and decode {size} of one letter, beside {against}"),
            measure: factor(letter("roundtrip", bytes, 3), against),
            bound: Bound::AtLeast(times),
            note: Some(UNLIKE),
        });
        goals.push(Goal {
            what: format!("The same with {size} of words, beside {against}"),
            measure: factor(text("roundtrip", bytes, 3), against),
            bound: Bound::None,
            note: Some(WORDS),
        });
    }
    let bytes = "Bytes of an encoding, of those of its fields";
    goals.push(Goal::exactly(bytes, largest(figures), 1.01));
    goals
}

/// The largest overhead at layer 1 of all that was measured.
fn largest(figures: &Figures<'_>) -> Option<f64> {
    let sizes = BYTES.into_iter().flat_map(|bytes| [0, 75].map(|blob| super::size(bytes, blob, 1)));
    sizes.filter_map(|size| overhead(figures, &size, OURS)).max_by(f64::total_cmp)
}

pub(super) fn why_missed(document: &mut Document, figures: &Figures<'_>) {
    for bytes in [KB8, KB256] {
        let of = |name, layer, subject| {
            figures.time(&letter(name, bytes, layer), subject).map(|row| row.median)
        };
        let both =
            |layer, subject| Some((of("encode", layer, subject)?, of("decode", layer, subject)?));
        let (Some(copied), Some(ours)) = (both(1, "memcpy"), both(3, DIRECT)) else { continue };
        let floor = copied.0 + copied.1;
        let mut most = Vec::new();
        for seed in [ARRAY, BASE64] {
            if let Some(theirs) = of("roundtrip", 3, seed) {
                most.push(format!("{} beside {seed}", words::factor(theirs / floor, None)));
            }
        }
        if most.is_empty() {
            continue;
        }
        document.paragraph(format!(
            "At {} of one letter no codec takes less than copying the fields' bytes there and back, {} here: at most {}. \
             Ours encodes in {}, a copy takes {}; it decodes, which looks at every character, in {}, a copy \
             takes {}.",
            words::size_parameter(bytes),
            words::time(floor),
            words::list(&most),
            words::time(ours.0),
            words::time(copied.0),
            words::time(ours.1),
            words::time(copied.1),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;
    use crate::suite::{Extent, Suite};

    #[test]
    fn every_goal_names_a_case_of_the_suite() {
        let cases = Suite::find("codec").unwrap().cases(Extent::Quick);
        let goals = goals(&Figures::new(&Record::default(), Vec::new()));
        let mut named = 0;
        for goal in goals {
            let Measure::Factor { case, .. } = goal.measure else { continue };
            let found = cases.iter().any(|c| c.case == case.case && c.params == case.params);
            assert!(found, "{}", goal.what);
            named += 1;
        }
        assert_eq!(named, 8);
    }
}

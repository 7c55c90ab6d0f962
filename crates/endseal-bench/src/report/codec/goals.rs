//! What station 2 set out to reach with its codec.

use super::super::document::Document;
use super::super::figures::{Case, Figures, OURS};
use super::super::goals::{Bound, Goal, Measure};
use super::super::words;
use super::{ARRAY, BASE64, KB8, KB256, overhead, text};
use crate::ours::codec::DIRECT;
use crate::suite::codec::BYTES;

const UNLIKE: &str = "The seed's method at its layer 3, which encrypts; ours at layer 3 for a connection \
    that encrypts (endseal-direct), as the seed planned. Beside endseal, which seals besides, the \
    factors stand in the tables below.";

pub(super) fn goals(figures: &Figures<'_>) -> Vec<Goal> {
    let faster = |bytes: u64, against, times| Goal {
        what: format!(
            "Encode and decode {} of text, beside {against}",
            words::size_parameter(bytes)
        ),
        measure: Measure::Factor { case: text("roundtrip", bytes, 3), subject: DIRECT, against },
        bound: Bound::AtLeast(times),
        note: Some(UNLIKE),
    };
    vec![
        faster(KB8, ARRAY, 230.0),
        faster(KB8, BASE64, 30.0),
        faster(KB256, ARRAY, 800.0),
        faster(KB256, BASE64, 90.0),
        Goal::at_most("Bytes of an encoding, of those of its fields", largest(figures), 1.01),
    ]
}

/// The largest overhead at layer 1 of all that was measured.
fn largest(figures: &Figures<'_>) -> Option<f64> {
    let sizes = BYTES.into_iter().flat_map(|bytes| [0, 75].map(|blob| super::size(bytes, blob, 1)));
    sizes.filter_map(|size| overhead(figures, &size, OURS)).max_by(f64::total_cmp)
}

pub(super) fn why_missed(document: &mut Document, figures: &Figures<'_>) {
    for bytes in [KB8, KB256] {
        let of = |case: &Case, subject| figures.time(case, subject).map(|row| row.median);
        let copied = [text("encode", bytes, 1), text("decode", bytes, 1)];
        let [Some(there), Some(back)] = copied.map(|case| of(&case, "memcpy")) else { continue };
        let Some(ours) = of(&text("roundtrip", bytes, 3), DIRECT) else { continue };
        let floor = there + back;
        document.paragraph(format!(
            "At {}, copying the fields' bytes there and back takes {} (memcpy), and ours {}, {} as \
             long. The rest is looking at each character of the text, once, and one allocation for each \
             field that owns memory.",
            words::size_parameter(bytes),
            words::time(floor),
            words::time(ours),
            words::factor(ours / floor, None),
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
        let goals = goals(&Figures::new(&Record::default()));
        let mut named = 0;
        for goal in goals {
            let Measure::Factor { case, .. } = goal.measure else { continue };
            let found = cases.iter().any(|c| c.case == case.case && c.params == case.params);
            assert!(found, "{}", goal.what);
            named += 1;
        }
        assert_eq!(named, 4);
    }
}

//! What station 1 set out to reach, and what the CPU allows.

use super::super::document::Document;
use super::super::figures::{Figures, OURS, SEED, real};
use super::super::goals::Goal;
use super::{open, seal};
use crate::words;

/// Steps of the Montgomery ladder for a scalar of X25519 (RFC 7748).
const STEPS: f64 = 255.0;
/// Vector operations of a step of the kernel, and points that it works on at once
/// (docs/design/x25519-batch.md).
const OPERATIONS: f64 = 709.0;
const MULTIPLICATIONS: f64 = 466.0;
const LANES: f64 = 8.0;

pub(super) fn goals(figures: &Figures<'_>) -> Vec<Goal> {
    let faster = |members, against, times| {
        let what = format!("Seal 1 KB to {} people, beside {against}", words::integer(members));
        Goal::faster(what, seal(members), against, times)
    };
    let share = match (figures.bytes_per_member(OURS), figures.bytes_per_member("libsignal")) {
        (Some(ours), Some(theirs)) if theirs > 0.0 => Some(ours / theirs),
        _ => None,
    };
    vec![
        faster(100, SEED, 300.0),
        faster(1000, SEED, 330.0),
        faster(100, "libsignal", 35.0),
        faster(100, "age", 18.0),
        faster(100, "hpke", 22.0),
        faster(100, "straight", 8.0),
        Goal::faster("Open it as one of 100, beside libsignal", open(100), "libsignal", 2.5),
        Goal::faster(format!("Open it as one of 100, beside {SEED}"), open(100), SEED, 15.0),
        Goal::exactly("Bytes of one more person, of libsignal's", share, 0.53),
    ]
}

pub(super) fn why_missed(document: &mut Document, figures: &Figures<'_>) {
    let mut measured = 0;
    for members in [100, 1000] {
        let case = seal(members);
        let metric = |metric| figures.row(&case, OURS, metric).map(|row| row.median);
        let (Some(whole), Some(agreements), Some(ghz)) = (
            figures.time(&case, OURS).map(|row| row.median),
            metric("agreements"),
            metric("clock"),
        ) else {
            continue;
        };
        measured += 1;
        let each = agreements / real(members);
        document.paragraph(format!(
            "Of the {} for {}, {} ({}) are X25519 with each of them: {} each, or {} cycles at {} GHz.",
            words::time(whole),
            words::plural_members(members),
            words::time(agreements),
            words::percent((agreements / whole).min(1.0)),
            words::time(each),
            words::count(each * ghz),
            words::digits(ghz),
        ));
    }
    let cycles = |ports: f64| words::count(OPERATIONS / ports * STEPS / LANES);
    let by_kernel = figures.record.environment.x25519 == "Ifma";
    if measured == 0 || !by_kernel {
        document.paragraph(
            "The goals were set for a CPU with AVX-512 IFMA, whose kernel did not run here, or its \
             part was not measured.",
        );
        return;
    }
    document.paragraph(format!(
        "The kernel works on {LANES} people at once, {OPERATIONS} vector operations of 512 bits for each \
         of {STEPS} steps: at least {} cycles each on a CPU that does two such operations a cycle \
         (Intel), {} on one that does four (AMD Zen 5, for which the goals were set; there two of them \
         multiply, and {} are the least). What is measured above beyond that is what a better kernel \
         could still win; the rest belongs to the CPU, and every goal for sealing shrinks with it, \
         because the peers use scalar units.",
        cycles(2.0),
        cycles(4.0),
        words::count(MULTIPLICATIONS / 2.0 * STEPS / LANES),
    ));
}

#[cfg(test)]
mod tests {
    use super::super::super::goals::Measure;
    use super::*;
    use crate::record::Record;

    #[test]
    fn every_goal_names_a_case_of_the_suite() {
        let cases =
            crate::suite::Suite::find("envelope").unwrap().cases(crate::suite::Extent::Quick);
        for goal in goals(&Figures::new(&Record::default(), Vec::new())) {
            let Measure::Factor { case, .. } = goal.measure else { continue };
            let found = cases.iter().any(|c| c.case == case.case && c.params == case.params);
            assert!(found, "{}", goal.what);
        }
    }
}

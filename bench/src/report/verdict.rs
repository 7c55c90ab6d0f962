//! Judges the project's goals by the figures of a run.

use core::cell::RefCell;

use super::figures::{Figure, Figures};
use crate::case::{Case, OURS};
use crate::words;

/// Largest noise floor at which every figure decides its goal.
const DECISIVE: f64 = 0.05;

/// Judgement of a goal (docs/bench/README.md).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// The figure is equal to its bound or better.
    Reached,
    /// The noise of the machine is larger than the distance to the bound.
    NotDecided,
    /// The figure is worse than its bound by this share of it.
    Missed(f64),
    /// The run has no such figure, because a subject or a case was not measured.
    NotMeasured,
    /// All subjects were measured in a run of the default extent, but this figure is missing.
    Failed,
}

/// The bound of a goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// A goal with its verdict.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) what: String,
    pub(crate) bound: Bound,
    pub(crate) unit: &'static str,
    pub(crate) value: Option<f64>,
    pub(crate) verdict: Verdict,
    pub(crate) note: &'static str,
    /// Subjects and cases that the goal compares.
    #[cfg(test)]
    pub(crate) asked: Vec<(String, Case)>,
}

impl Judged {
    /// Formats a number in the unit of the goal.
    pub(crate) fn text(&self, number: f64) -> String {
        match self.unit {
            // A share close to 100 % needs enough digits to show one percent.
            "×" if (0.9..1.1).contains(&number) => words::fine_factor(number),
            "×" => words::factor(number, None),
            unit => words::value(number, unit),
        }
    }
}

/// Judges the goals of a suite, one call for each.
#[derive(Debug)]
pub(crate) struct Judge<'a> {
    suite: &'static str,
    /// Figures of the run; without any, each figure is 1, so that a goal names all that it asks
    /// for.
    figures: Option<&'a Figures<'a>>,
    asked: RefCell<Vec<(String, Case)>>,
    pub(crate) judged: Vec<Judged>,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(suite: &'static str, figures: Option<&'a Figures<'a>>) -> Self {
        Self { suite, figures, asked: RefCell::default(), judged: Vec::new() }
    }

    /// Returns a figure of a subject.
    pub(crate) fn value(&self, subject: &str, figure: &str) -> Option<f64> {
        let Figure { case, metric } = Figure::read(self.suite, figure);
        self.asked.borrow_mut().push((subject.to_owned(), case.clone()));
        let Some(figures) = self.figures else { return Some(1.0) };
        figures.row(&case, subject, &metric).map(|row| row.median)
    }

    /// Returns a figure of our default subject.
    pub(crate) fn ours(&self, figure: &str) -> Option<f64> {
        self.value(OURS, figure)
    }

    /// Returns the first figure divided by the second one. Both are asked for.
    pub(crate) fn ratio(&self, one: (&str, &str), other: (&str, &str)) -> Option<f64> {
        let (one, other) = (self.value(one.0, one.1), self.value(other.0, other.1));
        Some(one? / other?)
    }

    /// Returns how many times faster the subject is than the other one, by rounds.
    pub(crate) fn faster(&self, subject: &str, figure: &str, other: &str) -> Option<f64> {
        let Figure { case, .. } = Figure::read(self.suite, figure);
        let asked = [subject, other].map(|name| (name.to_owned(), case.clone()));
        self.asked.borrow_mut().extend(asked);
        let Some(figures) = self.figures else { return Some(1.0) };
        figures.factor(&case, subject, other).map(|factor| factor.median)
    }

    /// Judges how many times faster a subject is than another one.
    pub(crate) fn factor(
        &mut self,
        what: impl Into<String>,
        least: f64,
        subject: &str,
        figure: &str,
        other: &str,
    ) {
        self.timed(what, Bound::AtLeast(least), "×", |it| it.faster(subject, figure, other));
    }

    /// Judges a time or a ratio of times: the noise of the machine may leave it undecided.
    pub(crate) fn timed(
        &mut self,
        what: impl Into<String>,
        bound: Bound,
        unit: &'static str,
        value: impl FnOnce(&Self) -> Option<f64>,
    ) {
        self.goal(what.into(), bound, unit, false, value);
    }

    /// Judges a length, a count or memory, which do not depend on the noise of the machine.
    pub(crate) fn exact(
        &mut self,
        what: impl Into<String>,
        bound: Bound,
        unit: &'static str,
        value: impl FnOnce(&Self) -> Option<f64>,
    ) {
        self.goal(what.into(), bound, unit, true, value);
    }

    /// Adds a remark to the last goals, as many as are named.
    pub(crate) fn note(&mut self, goals: usize, note: &'static str) {
        self.judged.iter_mut().rev().take(goals).for_each(|goal| goal.note = note);
    }

    fn goal(
        &mut self,
        what: String,
        bound: Bound,
        unit: &'static str,
        exact: bool,
        value: impl FnOnce(&Self) -> Option<f64>,
    ) {
        let value = value(self);
        let asked = self.asked.take();
        let floor = match self.figures {
            Some(figures) if !exact => {
                asked.iter().map(|(_, case)| figures.noise_floor_of(case)).fold(0.0, f64::max)
            }
            _ => 0.0,
        };
        let verdict = match value {
            Some(value) => verdict(bound, value, exact, floor),
            None if self.took_part(&asked) => Verdict::Failed,
            None => Verdict::NotMeasured,
        };
        self.judged.push(Judged {
            what,
            bound,
            unit,
            value,
            verdict,
            note: "",
            #[cfg(test)]
            asked,
        });
    }

    /// Returns true if every subject of a goal has figures in its suite and the run has all cases.
    fn took_part(&self, asked: &[(String, Case)]) -> bool {
        let Some(record) = self.figures.map(|figures| figures.record) else { return false };
        let whole =
            record.complete && record.extent != "quick" && record.arguments.cases.is_empty();
        let measured = |(subject, case): &(String, Case)| {
            record.rows.iter().any(|row| row.case.suite == case.suite && row.subject == *subject)
        };
        whole && asked.iter().all(measured)
    }
}

/// Compares a number with the bound. If the noise floor is above [`DECISIVE`], a figure within the
/// floor of its bound decides nothing.
fn verdict(bound: Bound, number: f64, exact: bool, floor: f64) -> Verdict {
    let (bound, short) = match bound {
        Bound::AtLeast(bound) => (bound, 1.0 - number / bound),
        // The bound is zero: each unit above it counts as a miss by 100 %.
        Bound::AtMost(0.0) => (0.0, number),
        Bound::AtMost(bound) => (bound, number / bound - 1.0),
    };
    // A time or yield of zero was not measured; a count can be zero.
    if number < 0.0 || (number == 0.0 && !exact) {
        return Verdict::NotMeasured;
    }
    // The ratio of the larger to the smaller value is the same below and above the bound.
    if floor > DECISIVE && (number / bound).max(bound / number) - 1.0 <= floor {
        return Verdict::NotDecided;
    }
    if short <= 0.0 { Verdict::Reached } else { Verdict::Missed(short) }
}

#[cfg(test)]
mod tests {
    use super::Bound::{AtLeast, AtMost};
    use super::*;

    #[test]
    fn a_figure_within_the_noise_of_its_bound_decides_nothing() {
        let of = |number: f64, floor: f64| verdict(AtMost(1.6), number, false, floor);
        assert!(matches!(of(1.7, 0.05), Verdict::Missed(by) if (by - 0.0625).abs() < 1e-9));
        assert_eq!(of(1.7, 0.10), Verdict::NotDecided);
        assert_eq!(of(1.5, 0.10), Verdict::NotDecided);
        assert_eq!(of(1.4, 0.10), Verdict::Reached);
        assert!(matches!(of(4.0, 1.2), Verdict::Missed(_)));
        assert_eq!(of(0.0, 0.0), Verdict::NotMeasured);
    }

    #[test]
    fn a_goal_is_reached_on_its_bound_and_missed_beyond() {
        assert_eq!(verdict(AtLeast(8.0), 8.0, false, 0.0), Verdict::Reached);
        assert_eq!(verdict(AtLeast(8.0), 6.0, false, 0.0), Verdict::Missed(0.25));
        assert_eq!(verdict(AtMost(0.0), 0.0, true, 0.0), Verdict::Reached);
        assert_eq!(verdict(AtMost(0.0), 2.0, true, 0.0), Verdict::Missed(2.0));
    }
}

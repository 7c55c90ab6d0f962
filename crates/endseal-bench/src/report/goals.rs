//! What the project set out to reach, beside what this run found.

use super::document::{Document, Table, Text};
use super::figures::{Case, Figures, OURS};
use crate::words;

/// A figure that the project wants to reach.
pub(crate) struct Goal {
    pub(crate) what: String,
    pub(crate) measure: Measure,
    pub(crate) bound: Bound,
    /// What the two that are compared do not have in common, if it must be said.
    pub(crate) note: Option<&'static str>,
}

/// Which figure.
pub(crate) enum Measure {
    /// How many times faster `subject` is than `against`.
    Factor { case: Case, subject: &'static str, against: &'static str },
    /// A share of one figure in another, such as bytes beside a peer's.
    Share(Option<f64>),
}

/// What it must be.
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
    /// None: a figure that belongs beside a goal, so that nobody takes the one for the other.
    None,
}

impl Goal {
    /// `endseal` is at least `times` as fast as `against`.
    pub(crate) fn faster(
        what: impl Into<String>,
        case: Case,
        against: &'static str,
        times: f64,
    ) -> Self {
        let measure = Measure::Factor { case, subject: OURS, against };
        Self { what: what.into(), measure, bound: Bound::AtLeast(times), note: None }
    }

    /// A share that must not be larger.
    pub(crate) fn at_most(what: impl Into<String>, share: Option<f64>, bound: f64) -> Self {
        let (measure, bound) = (Measure::Share(share), Bound::AtMost(bound));
        Self { what: what.into(), measure, bound, note: None }
    }

    /// The figure and its interval; `None` if this run did not measure it.
    fn found(&self, figures: &Figures<'_>) -> Option<(f64, Option<[f64; 2]>)> {
        match &self.measure {
            Measure::Factor { case, subject, against } => {
                let factor = figures.factor(case, subject, against)?;
                Some((factor.median, factor.ci95))
            }
            Measure::Share(share) => share.map(|share| (share, None)),
        }
    }

    fn judge(&self, figures: &Figures<'_>) -> Verdict {
        let Some((median, ci95)) = self.found(figures) else { return Verdict::NotMeasured };
        let [low, high] = ci95.unwrap_or([median, median]);
        let (reached, within) = match self.bound {
            Bound::AtLeast(bound) => (median >= bound, high >= bound),
            Bound::AtMost(bound) => (median <= bound, low <= bound),
            Bound::None => return Verdict::NoGoal,
        };
        match (reached, within) {
            (true, _) => Verdict::Reached,
            (false, true) => Verdict::Within,
            (false, false) => Verdict::Missed,
        }
    }

    fn wanted(&self) -> String {
        match self.bound {
            Bound::AtLeast(bound) => format!("≥ {}", words::factor(bound, None)),
            Bound::AtMost(bound) => format!("≤ {}", words::factor(bound, None)),
            Bound::None => "–".into(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Reached,
    /// The median misses it, the interval does not.
    Within,
    Missed,
    NotMeasured,
    NoGoal,
}

/// The goals of all suites that were measured, and why some were missed.
pub(crate) fn write(document: &mut Document, figures: &Figures<'_>) {
    let suites = figures.suites();
    let with_goals = suites.iter().map(|suite| (suite, suite.report.goals(figures)));
    let with_goals: Vec<_> = with_goals.filter(|(_, goals)| !goals.is_empty()).collect();
    if with_goals.is_empty() {
        return;
    }
    document.section("Goals");
    for (suite, goals) in &with_goals {
        if with_goals.len() > 1 {
            document.subsection(suite.name);
        }
        if table(document, figures, goals) {
            suite.report.why_missed(document, figures);
        }
    }
}

/// Writes the table. Gives whether a goal was missed.
fn table(document: &mut Document, figures: &Figures<'_>, goals: &[Goal]) -> bool {
    let mut table = Table::new("", &["Goal", "wanted", "here", ""]);
    let mut missed = false;
    for goal in goals {
        let verdict = goal.judge(figures);
        missed |= verdict == Verdict::Missed;
        let here = match goal.found(figures) {
            // One percent matters in a share of nearly all.
            Some((median, None)) if (0.9..1.1).contains(&median) => {
                words::fine_factor(median).into()
            }
            Some((median, ci95)) => words::factor(median, ci95).into(),
            None => Text::not_measured(),
        };
        let verdict = match verdict {
            Verdict::Reached => Text::from("reached"),
            Verdict::Within => Text::from("within the interval"),
            Verdict::Missed => Text::new().strong("missed"),
            Verdict::NotMeasured => Text::from("–"),
            Verdict::NoGoal => Text::from("no goal"),
        };
        let mut what = Text::from(&*goal.what);
        if let Some(note) = goal.note {
            let note = Text::from(note);
            let known = table.notes.iter().position(|known| *known == note);
            what = what.note(known.unwrap_or(table.notes.len()) + 1);
            table.notes.extend(known.is_none().then_some(note));
        }
        table.row(vec![what, goal.wanted().into(), here, verdict]);
    }
    document.table(table);
    missed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

    fn share(share: Option<f64>, bound: Bound) -> Verdict {
        let measure = Measure::Share(share);
        let goal = Goal { what: "bytes".into(), measure, bound, note: None };
        goal.judge(&Figures::new(&Record::default()))
    }

    #[test]
    fn a_goal_is_reached_on_its_bound_and_missed_beyond() {
        assert_eq!(share(Some(8.0), Bound::AtLeast(8.0)), Verdict::Reached);
        assert_eq!(share(Some(7.9), Bound::AtLeast(8.0)), Verdict::Missed);
        assert_eq!(share(Some(0.5), Bound::AtMost(0.53)), Verdict::Reached);
        assert_eq!(share(Some(0.54), Bound::AtMost(0.53)), Verdict::Missed);
        assert_eq!(share(None, Bound::AtMost(0.53)), Verdict::NotMeasured);
        assert_eq!(share(Some(0.1), Bound::None), Verdict::NoGoal);
    }
}

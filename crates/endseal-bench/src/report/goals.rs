//! What the project set out to reach, beside what this run found.

use super::document::{Document, Table, Text};
use super::figures::{Case, Figures, OURS};
use crate::words;

/// The largest noise floor with which each figure decides.
const DECISIVE: f64 = 0.05;

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
    /// A share of one measured time in another.
    Share(Option<f64>),
    /// A share of lengths, counts or memory, which no noise of the machine changes.
    Exact(Option<f64>),
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

    /// A share of lengths, counts or memory that must not be larger.
    pub(crate) fn exactly(what: impl Into<String>, share: Option<f64>, bound: f64) -> Self {
        Self { measure: Measure::Exact(share), ..Self::at_most(what, share, bound) }
    }

    /// The figure and its interval; `None` if this run did not measure it.
    fn found(&self, figures: &Figures<'_>) -> Option<(f64, Option<[f64; 2]>)> {
        match &self.measure {
            Measure::Factor { case, subject, against } => {
                let factor = figures.factor(case, subject, against)?;
                Some((factor.median, factor.ci95))
            }
            Measure::Share(share) | Measure::Exact(share) => share.map(|share| (share, None)),
        }
    }

    /// A figure within the noise floor of its bound decides nothing if that floor is above [`DECISIVE`].
    fn judge(&self, figures: &Figures<'_>, floor: f64) -> Verdict {
        let Some((median, _)) = self.found(figures) else { return Verdict::NotMeasured };
        let (bound, reached) = match self.bound {
            Bound::AtLeast(bound) => (bound, median >= bound),
            Bound::AtMost(bound) => (bound, median <= bound),
            Bound::None => return Verdict::NoGoal,
        };
        let exact = matches!(self.measure, Measure::Exact(_));
        if !exact && floor > DECISIVE && (median / bound - 1.0).abs() <= floor {
            return Verdict::NotDecided;
        }
        if reached { Verdict::Reached } else { Verdict::Missed }
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
    /// The noise of the machine is larger than the distance to the bound.
    NotDecided,
    Missed,
    NotMeasured,
    NoGoal,
}

/// The goals of all suites that were measured, and why some were missed.
pub(crate) fn write(document: &mut Document, figures: &Figures<'_>) {
    let views = figures.views();
    let with_goals = views.iter().map(|view| (view, view.report.goals(figures)));
    let with_goals: Vec<_> = with_goals.filter(|(_, goals)| !goals.is_empty()).collect();
    if with_goals.is_empty() {
        return;
    }
    document.section("Goals");
    for (view, goals) in &with_goals {
        if with_goals.len() > 1 {
            document.subsection(view.suite.name);
        }
        if table(document, figures, goals, figures.noise_floor_of(view.suite.name)) {
            view.report.why_missed(document, figures);
        }
    }
}

/// Writes the table. Gives whether a goal was missed.
fn table(document: &mut Document, figures: &Figures<'_>, goals: &[Goal], noise_floor: f64) -> bool {
    let mut table = Table::new("", &["Goal", "wanted", "here", ""]);
    let mut missed = false;
    for goal in goals {
        let verdict = goal.judge(figures, noise_floor);
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
            Verdict::NotDecided => Text::from("not decided"),
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

    fn judged(measure: Measure, bound: Bound, noise_floor: f64) -> Verdict {
        let goal = Goal { what: "bytes".into(), measure, bound, note: None };
        goal.judge(&Figures::new(&Record::default(), Vec::new()), noise_floor)
    }

    fn share(share: Option<f64>, bound: Bound) -> Verdict {
        judged(Measure::Share(share), bound, 0.05)
    }

    #[test]
    fn a_figure_within_the_noise_of_its_bound_decides_nothing() {
        let judged = |share, floor| judged(Measure::Share(Some(share)), Bound::AtMost(1.6), floor);
        assert_eq!(judged(1.7, 0.05), Verdict::Missed);
        assert_eq!(judged(1.7, 0.10), Verdict::NotDecided);
        assert_eq!(judged(1.5, 0.10), Verdict::NotDecided);
        assert_eq!(judged(1.4, 0.10), Verdict::Reached);
        assert_eq!(judged(1.8, 0.10), Verdict::Missed);
        let exact = Measure::Exact(Some(1.7));
        let goal =
            Goal { what: "bytes".into(), measure: exact, bound: Bound::AtMost(1.6), note: None };
        assert_eq!(goal.judge(&Figures::new(&Record::default(), Vec::new()), 0.5), Verdict::Missed);
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

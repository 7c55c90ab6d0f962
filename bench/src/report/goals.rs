//! The project's goals, compared with the figures of this run.

use super::content::Goal;
use super::document::{Document, Table, Text};
use super::figures::{Figures, OURS, Part};
use super::markup;
use super::value::{Scope, Value};
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

/// A goal with its verdict and figure.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) goal: &'static Goal,
    pub(crate) value: Option<Value>,
    pub(crate) verdict: Verdict,
}

/// Judges all goals of a suite.
pub(crate) fn judged(figures: &Figures<'_>, part: &Part) -> Vec<Judged> {
    let scope = Scope { suite: part.suite.name.into(), ..Scope::default() };
    let of = |goal: &'static Goal| {
        let value = goal.value.value(&scope, figures);
        // Largest noise floor of the cases that the goal compares.
        let cases = goal.value.figures().into_iter().filter_map(|figure| scope.case_of(figure));
        let floors = cases.map(|case| figures.noise_floor_of(&case.suite, &case.case));
        let floor = floors.fold(0.0, f64::max);
        let verdict = match &value {
            Some(value) => verdict(goal, value.number, if goal.exact { 0.0 } else { floor }),
            None if took_part(figures, goal, part) => Verdict::Failed,
            None => Verdict::NotMeasured,
        };
        Judged { goal, value, verdict }
    };
    part.content.goals.iter().map(of).collect()
}

/// Returns true if every subject of a goal has figures in its suite and the run has all cases.
fn took_part(figures: &Figures<'_>, goal: &Goal, part: &Part) -> bool {
    let record = figures.record;
    let whole = record.complete && record.extent != "quick" && record.arguments.cases.is_empty();
    let measured = |subject: &str| {
        record.rows.iter().any(|row| row.suite == part.suite.name && row.subject == subject)
    };
    let named = goal
        .value
        .figures()
        .into_iter()
        .flat_map(|figure| [figure.subject.as_deref().or(Some(OURS)), figure.than.as_deref()]);
    whole && named.flatten().all(measured)
}

/// Compares a number with the bound of the goal. If the noise floor is above [`DECISIVE`], a figure
/// within the floor of its bound decides nothing.
fn verdict(goal: &Goal, number: f64, floor: f64) -> Verdict {
    let (bound, short) = match (goal.at_least, goal.at_most) {
        (Some(bound), _) => (bound, 1.0 - number / bound),
        // The bound is zero: each unit above it counts as a miss by 100 %.
        (None, Some(0.0)) => (0.0, number),
        (None, Some(bound)) => (bound, number / bound - 1.0),
        (None, None) => return Verdict::NotMeasured,
    };
    // A time or yield of zero was not measured; a count can be zero.
    if number < 0.0 || (number == 0.0 && !goal.exact) {
        return Verdict::NotMeasured;
    }
    // The ratio of the larger to the smaller value is the same below and above the bound.
    if floor > DECISIVE && (number / bound).max(bound / number) - 1.0 <= floor {
        return Verdict::NotDecided;
    }
    if short <= 0.0 { Verdict::Reached } else { Verdict::Missed(short) }
}

/// Writes the table of the goals of all suites that were measured.
pub(crate) fn write(document: &mut Document, figures: &Figures<'_>) {
    document.section("Goals");
    for part in figures.parts() {
        let judged = judged(figures, &part);
        document.subsection(part.suite.name);
        document.table(table(&judged));
    }
    document.paragraph(
        "A goal is not decided if the noise floor of its cases is above 5 % and the figure lies within \
         that floor of the bound. docs/bench/README.md says what follows from a miss.",
    );
}

fn table(all: &[Judged]) -> Table {
    let mut table = Table::new("", &["Goal", "wanted", "here", ""]);
    for Judged { goal, value, verdict } in all {
        let here = match value {
            Some(value) if goal.percent => words::fine_percent(value.number).into(),
            // A share close to 100 % needs enough digits to show one percent.
            Some(value)
                if value.unit == "×"
                    && value.ci95.is_none()
                    && (0.9..1.1).contains(&value.number) =>
            {
                words::fine_factor(value.number).into()
            }
            Some(value) if value.unit == "×" => words::factor(value.number, value.ci95).into(),
            Some(value) => value.text().into(),
            None => Text::not_measured(),
        };
        let verdict = match verdict {
            Verdict::Reached => Text::from("reached"),
            Verdict::NotDecided => Text::from("not decided"),
            Verdict::Missed(by) => {
                Text::new().strong("missed").say(format!(" by {}", words::percent(*by)))
            }
            Verdict::NotMeasured => Text::from("–"),
            Verdict::Failed => Text::new().strong("failed: no figure"),
        };
        let mut what = markup::text(&goal.what);
        if let Some(note) = &goal.note {
            let note = markup::text(note);
            let known = table.notes.iter().position(|known| *known == note);
            what = what.note(known.unwrap_or(table.notes.len()) + 1);
            table.notes.extend(known.is_none().then_some(note));
        }
        table.row(vec![what, wanted(goal, value.as_ref()).into(), here, verdict]);
    }
    table
}

/// Formats the bound in the unit of the figure, which is known only if it was measured.
fn wanted(goal: &Goal, value: Option<&Value>) -> String {
    let Some(value) = value else { return "–".into() };
    let of = |bound: f64| match &*value.unit {
        _ if goal.percent => words::fine_percent(bound),
        "×" if (0.9..1.1).contains(&bound) => words::fine_factor(bound),
        "×" => words::factor(bound, None),
        unit => words::value(bound, unit),
    };
    match (goal.at_least, goal.at_most) {
        (Some(bound), _) => format!("≥ {}", of(bound)),
        (None, Some(bound)) => format!("≤ {}", of(bound)),
        (None, None) => "–".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::expression::Expression;

    fn goal(at_least: Option<f64>, at_most: Option<f64>) -> Goal {
        let (what, value) = (String::new(), Expression::Number(0.0));
        Goal { what, value, at_least, at_most, exact: false, percent: false, note: None }
    }

    #[test]
    fn a_figure_within_the_noise_of_its_bound_decides_nothing() {
        let goal = goal(None, Some(1.6));
        assert!(
            matches!(verdict(&goal, 1.7, 0.05), Verdict::Missed(by) if (by - 0.0625).abs() < 1e-9)
        );
        assert_eq!(verdict(&goal, 1.7, 0.10), Verdict::NotDecided);
        assert_eq!(verdict(&goal, 1.5, 0.10), Verdict::NotDecided);
        assert_eq!(verdict(&goal, 1.4, 0.10), Verdict::Reached);
        assert!(matches!(verdict(&goal, 1.8, 0.10), Verdict::Missed(_)));
        // Even with a large noise floor, a figure that is far from its bound is decided.
        assert!(matches!(verdict(&goal, 4.0, 1.2), Verdict::Missed(_)));
        assert_eq!(verdict(&goal, 0.0, 0.0), Verdict::NotMeasured);
    }

    #[test]
    fn none_of_something_is_a_count() {
        let none = Goal { exact: true, ..goal(None, Some(0.0)) };
        assert_eq!(verdict(&none, 0.0, 0.0), Verdict::Reached);
        assert_eq!(verdict(&none, 2.0, 0.0), Verdict::Missed(2.0));
    }

    #[test]
    fn a_goal_is_reached_on_its_bound_and_missed_beyond() {
        assert_eq!(verdict(&goal(Some(8.0), None), 8.0, 0.0), Verdict::Reached);
        assert!(
            matches!(verdict(&goal(Some(8.0), None), 6.0, 0.0), Verdict::Missed(by) if by == 0.25)
        );
        assert_eq!(verdict(&goal(None, Some(0.53)), 0.5, 0.0), Verdict::Reached);
        assert!(matches!(verdict(&goal(None, Some(0.53)), 0.54, 0.0), Verdict::Missed(_)));
    }
}

//! The section that compares every subject with endseal, grouped by the properties that it
//! protects.

use std::collections::BTreeMap;

use super::case::Case;
use super::document::{Document, Table, Text};
use super::figures::{Figures, OURS, axis, on_axis, without};
use crate::record::{Params, Row};
use crate::suite::Suite;
use crate::words;

pub(super) fn write(document: &mut Document, figures: &Figures<'_>) {
    document.section("All subjects, by property class");
    document.paragraph(
        "A ratio between subjects with different properties compares different work: it is in \
         italics, and the heading of its class names the difference from endseal. Above 1, endseal \
         is faster.",
    );
    let groups = groups(figures);
    if groups.is_empty() {
        document.paragraph("This run has no times.");
    }
    for ((suite, case, params), cases) in groups {
        let common = Case { suite: suite.clone(), case: case.clone(), params };
        document.subsection(format!("{suite}: {}", common.describe()));
        for (_, note) in notes(&suite).filter(|(noted, _)| *noted == case) {
            document.paragraph(*note);
        }
        document.table(matrix(figures, &suite, &cases));
    }
}

fn notes(suite: &str) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    Suite::find(suite).into_iter().flat_map(|suite| suite.notes)
}

/// Groups cases that differ only in the parameter along which the suite is laid out.
fn groups<'f>(figures: &'f Figures<'_>) -> BTreeMap<(String, String, Params), Vec<&'f Case>> {
    let mut groups: BTreeMap<_, Vec<&Case>> = BTreeMap::new();
    for case in figures.timed_cases() {
        let rest = without(axis(&case.suite), &case.params);
        let key = (case.suite.clone(), case.case.clone(), rest);
        groups.entry(key).or_default().push(case);
    }
    for ((suite, _, _), cases) in &mut groups {
        cases.sort_by_key(|case| case.params.get(axis(suite)).copied());
    }
    groups
}

/// Returns a table with subjects as rows and group sizes as columns: the time and, below it, the
/// ratio.
fn matrix(figures: &Figures<'_>, suite: &str, cases: &[&Case]) -> Table {
    let mut table = Table::new("", &["Subject"]);
    for case in cases {
        let value = case.params.get(axis(suite));
        table.head.push(value.map_or("here".into(), |value| on_axis(axis(suite), *value).into()));
    }
    let protects = cases.iter().find(|case| figures.protects(case));
    let takes_part =
        |subject: &&str| cases.iter().any(|case| figures.time(case, subject).is_some());
    let mut classes: BTreeMap<(usize, String), Vec<&str>> = BTreeMap::new();
    for subject in figures.subjects().into_iter().filter(takes_part) {
        let difference = cases.iter().find_map(|case| figures.difference_at(case, OURS, subject));
        let class = match difference {
            _ if subject == OURS => (0, String::new()),
            None => (0, String::new()),
            Some(difference) => (difference.split([',', ';']).count(), difference),
        };
        classes.entry(class).or_default().push(subject);
    }
    for ((_, difference), mut subjects) in classes {
        table.group(if protects.is_none() {
            Text::from("What protects nothing by itself has no properties")
        } else if difference.is_empty() {
            Text::from("The properties of endseal")
        } else {
            format!("Beside endseal: {difference}").into()
        });
        let first = |subject: &&str| cases.iter().find_map(|case| figures.time(case, subject));
        subjects.sort_by(|a, b| {
            let median = |subject| first(subject).map_or(f64::MAX, |row| row.median);
            (*a != OURS).cmp(&(*b != OURS)).then(median(a).total_cmp(&median(b)))
        });
        for subject in subjects {
            let mut cells = vec![Text::from(subject)];
            cells.extend(cases.iter().map(|case| cell(figures, case, subject)));
            table.row(cells);
        }
    }
    table
}

/// Formats a time, with the clock if it is not wall time, and the number of threads if there are
/// several.
fn time_text(row: &Row) -> String {
    let clock = if row.metric == "cpu" { " CPU" } else { "" };
    let threads = row.threads.map(|threads| format!(" on {}", words::plural(threads, "thread")));
    format!("{}{clock}{}", words::time(row.median), threads.unwrap_or_default())
}

fn cell(figures: &Figures<'_>, case: &Case, subject: &str) -> Text {
    let Some(row) = figures.time(case, subject) else {
        return "–".into();
    };
    if subject == OURS {
        let text = Text::new().strong(time_text(row)).line_break();
        return text.say(words::interval(row.median, row.ci95));
    }
    let Some(factor) = figures.factor(case, OURS, subject) else {
        return time_text(row).into();
    };
    // The interval has a line of its own, because there are many columns.
    let unlike = figures.difference_at(case, OURS, subject).is_some();
    let marked = |text: Text, words: &str| match unlike {
        true => text.emphasis(words),
        false => text.say(words),
    };
    let words = figures.factor_words(case, factor);
    let text = Text::from(time_text(row)).line_break();
    match words.split_once(" (") {
        Some((factor, interval)) => {
            let text = marked(text, factor).line_break();
            marked(text, &format!("({interval}"))
        }
        None => marked(text, &words),
    }
}

//! Builds charts from their specification and the figures.

use super::case::Case;
use super::chart::{Bar, BarGroup, Bars, Chart, Curves, MOST_SERIES, Quantity, Scale, Series};
use super::content::{BarsSpec, Column, CurvesSpec, Field, Row, Show};
use super::figures::{Figures, OURS, Part, is_floor, is_method, is_ours, is_seed};
use super::table::{case_of, value, within};
use super::value::{Scope, Value};
use crate::stats::theil_sen;
use crate::suite::envelope::HYBRID;
use crate::words;

/// The published methods that charts show, in each runtime and form that was published.
const PUBLISHED: [&str; 6] = [
    "seed-noble",
    "seed-noble-bun",
    "seed-json-array",
    "seed-json-base64",
    "seed-ctr",
    "baseline-method",
];

/// Builds a chart of bars; `None` if no bar was measured.
pub(crate) fn bars(figures: &Figures<'_>, suite: &str, spec: &BarsSpec) -> Option<Chart> {
    let base = Scope { suite: suite.to_owned(), ..Scope::default() };
    let mut groups = Vec::new();
    let mut quantity = Quantity::Count;
    for row in &spec.groups {
        let scope = within(&base, row);
        let mut measured = false;
        let mut bars = Vec::new();
        for column in &spec.bars {
            let Some(found) = of_column(figures, column, row, &scope) else { continue };
            measured |= column.show != Show::Field;
            quantity = quantity_of(&found.unit, quantity);
            let alike = column.show != Show::Field;
            bars.push(bar(&column.head, &found, alike));
        }
        if let Some(expression) = &spec.by_subject {
            for subject in figures.subjects().into_iter().filter(|it| !is_floor(suite, it)) {
                let scope = Scope { subject: Some(subject.to_owned()), ..scope.clone() };
                let Some(found) = expression.value(&scope, figures) else { continue };
                measured = true;
                bars.push(bar(subject, &found, is_ours(subject)));
            }
            bars.sort_by(|a, b| a.median.total_cmp(&b.median));
        }
        if measured {
            groups.push(BarGroup { title: row.name.clone(), bars });
        }
    }
    let scale = if spec.ratio { Scale::Ratio } else { Scale::Amount(quantity) };
    drawn(spec.title.clone(), spec.note.clone(), scale, groups)
}

/// Builds a chart of the times of a suite's first main case: ours, the published method and the
/// best peers.
pub(crate) fn component(figures: &Figures<'_>, part: &Part) -> Option<Chart> {
    /// Number of peers that are shown. More bars do not fit on a telephone.
    const BEST: usize = 3;
    let suite = part.suite.name;
    let case = case_of(suite, part.content.main.first()?);
    let ours = figures.time(&case, OURS)?;
    let mut rows: Vec<_> = figures
        .subjects()
        .into_iter()
        .filter_map(|subject| Some((subject, figures.time(&case, subject)?)))
        .filter(|(_, row)| row.metric == ours.metric)
        .collect();
    rows.sort_by(|(_, a), (_, b)| a.median.total_cmp(&b.median));
    let mut peers = 0;
    rows.retain(|(subject, _)| {
        if PUBLISHED.contains(subject) || [OURS, HYBRID].contains(subject) {
            return true;
        }
        let rival = !is_ours(subject) && !is_seed(subject) && !is_floor(suite, subject);
        peers += usize::from(rival);
        rival && peers <= BEST
    });
    if rows.len() < 2 {
        return None;
    }
    let bars = rows.into_iter().map(|(subject, row)| Bar {
        name: words::tame(subject),
        median: row.median,
        ci95: row.ci95.unwrap_or([row.median; 2]),
        text: words::time(row.median),
        alike: figures.difference_at(&case, OURS, subject).is_none(),
    });
    drawn(
        suite.to_owned(),
        "Ours, the published method run here, and the fastest peers; shorter is better. In italics: \
         different properties".into(),
        Scale::Amount(Quantity::Nanoseconds),
        vec![BarGroup { title: case.describe(), bars: bars.collect() }],
    )
}

/// Builds the chart of these groups, with a description for readers who cannot see it.
fn drawn(title: String, note: String, scale: Scale, groups: Vec<BarGroup>) -> Option<Chart> {
    let each = groups.iter().map(|group| {
        let bars = group.bars.iter().map(|bar| format!("{} {}", bar.name, bar.text));
        format!("{}: {}.", group.title, bars.collect::<Vec<_>>().join("; "))
    });
    let description = format!("Logarithmic axis. {}", each.collect::<Vec<_>>().join(" "));
    (!groups.is_empty()).then_some(Chart::Bars(Bars { scale, title, note, description, groups }))
}

fn of_column(figures: &Figures<'_>, column: &Column, row: &Row, scope: &Scope) -> Option<Value> {
    if column.show != Show::Field {
        return value(figures, column, row, scope);
    }
    match row.fields.get(&column.of)? {
        Field::Number(_) => {
            let variable = super::expression::Expression::Variable(column.of.clone());
            variable.value(scope, figures)
        }
        Field::Text(_) => None,
    }
}

fn quantity_of(unit: &str, known: Quantity) -> Quantity {
    match unit {
        "ns" => Quantity::Nanoseconds,
        "B" => Quantity::Bytes,
        _ => known,
    }
}

fn bar(name: &str, value: &Value, alike: bool) -> Bar {
    let median = value.number;
    let text = match &*value.unit {
        "×" => words::fine_factor(median),
        "1" | "" => words::digits(median),
        _ => value.text(),
    };
    let ci95 = value.ci95.unwrap_or([median; 2]);
    Bar { name: words::tame(name), median, ci95, text, alike }
}

/// Builds a chart with a line for each subject that has at least two points.
pub(crate) fn curves(figures: &Figures<'_>, suite: &str, spec: &CurvesSpec) -> Option<Chart> {
    let CurvesSpec { title, case, params, over, metric } = spec;
    let case = Case { suite: suite.to_owned(), case: case.clone(), params: params.0.clone() };
    let mut series: Vec<(u8, Series)> = Vec::new();
    let subjects = figures.subjects();
    for subject in &subjects {
        let points = figures.over(over, &case, subject, metric);
        if points.len() < 2 {
            continue;
        }
        let main = *subject == OURS || is_method(subject);
        let line = || theil_sen(&points).map(|line| (line.fixed, line.per_unit));
        let fit = if metric == "time" && main { line() } else { None };
        let variant = || subjects.iter().any(|other| is_variant(subject, other));
        // Order: ours, the published method, one subject of each peer; then their variants, and our
        // other forms.
        let order = match *subject {
            OURS => 0,
            other if main && !is_ours(other) => 1,
            other if is_ours(other) => 4,
            other if is_seed(other) || variant() => 3,
            _ => 2,
        };
        series.push((order, Series { name: words::tame(subject), points, fit }));
    }
    if series.is_empty() {
        return None;
    }
    series.sort_by(|(a, one), (b, other)| {
        a.cmp(b).then(one.points[0].1.total_cmp(&other.points[0].1))
    });
    let mut series: Vec<Series> = series.into_iter().map(|(_, series)| series).collect();
    let left_out: Vec<String> =
        series.drain(MOST_SERIES.min(series.len())..).map(|one| one.name).collect();
    let quantity = if metric == "time" { Quantity::Nanoseconds } else { Quantity::Bytes };
    let ends = |one: &Series| {
        let value = |y: f64| words::value(y, if metric == "time" { "ns" } else { "B" });
        let (first, last) = (one.points[0], one.points[one.points.len() - 1]);
        let (from, to) = (words::count(first.0), words::count(last.0));
        format!("{}: {} at {from}, {} at {to}", one.name, value(first.1), value(last.1))
    };
    let each: Vec<String> = series.iter().map(ends).collect();
    let description = format!("Both axes are logarithmic. {}.", each.join("; "));
    let mut remarks = Vec::new();
    if series.iter().any(|one| one.fit.is_some()) {
        remarks.push("Dashed: the fitted line".to_owned());
    }
    if !left_out.is_empty() {
        remarks.push(format!("Only in the tables: {}", words::list(&left_out)));
    }
    let x_quantity = if over == "bytes" { Quantity::Bytes } else { Quantity::Count };
    Some(Chart::Curves(Curves {
        title: title.clone(),
        note: remarks.join(". "),
        description,
        x: over.clone(),
        x_quantity,
        y: metric.clone(),
        quantity,
        series,
    }))
}

/// Returns true if the subject is a variant of the other: "age-unbuffered" of "age".
fn is_variant(subject: &str, other: &str) -> bool {
    subject.strip_prefix(other).is_some_and(|rest| rest.starts_with('-'))
}

//! How time and bytes grow with the group: charts, and what the fitted lines say.

use super::chart::{Chart, Curves, MOST_SERIES, Quantity, Series};
use super::document::{Document, Table, Text};
use super::figures::{Case, Figures, MEMBERS, OURS, SEED, is_ours, is_seed};
use crate::stats::theil_sen;
use crate::words;

pub(crate) fn write(document: &mut Document, figures: &Figures<'_>) {
    document.section("Growth");
    let seal = Case::envelope("seal", &[("bytes", 1024)]);
    document.chart(curves(figures, &seal, "time"));
    let open = Case::envelope("open", &[("bytes", 1024)]);
    document.chart(curves(figures, &open, "time"));
    sentences(document, figures, &seal);
    if let Some(table) = lines(figures, &seal) {
        document.table(table);
    }
    document.paragraph(
        "The seed says of its own method: linear, no exponential growth; opening O(1). A line is \
         fitted by Theil and Sen (the median of the slopes of all pairs), the exponent on \
         logarithms: 1.00 is linear, 0 is constant.",
    );
}

/// A chart of envelopes over members.
pub(crate) fn curves(figures: &Figures<'_>, case: &Case, metric: &str) -> Option<Chart> {
    let noun = if metric == "time" { "Time" } else { "Length" };
    let job = match (metric, case.case.as_str()) {
        ("time", "seal") => "to seal 1 KB",
        ("time", "open") => "to open 1 KB",
        _ => "of a message of 1 KB",
    };
    let title = format!("{noun} {job}, by members");
    let axes = Axes { parameter: MEMBERS, quantity: Quantity::Count, metric, noun, title };
    curves_over(figures, case, axes)
}

/// What a chart of curves shows.
#[derive(Debug)]
pub(crate) struct Axes<'a> {
    /// The parameter along x, and what it counts.
    pub(crate) parameter: &'a str,
    pub(crate) quantity: Quantity,
    /// The metric along y, and its name for people.
    pub(crate) metric: &'a str,
    pub(crate) noun: &'a str,
    pub(crate) title: String,
}

/// A chart with a line for each subject that has at least two points.
pub(crate) fn curves_over(figures: &Figures<'_>, case: &Case, axes: Axes<'_>) -> Option<Chart> {
    let Axes { parameter, metric, noun, .. } = axes;
    let mut series: Vec<(u8, Series)> = Vec::new();
    let subjects = figures.subjects();
    for subject in &subjects {
        let points = figures.over(parameter, case, subject, metric);
        if points.len() < 2 {
            continue;
        }
        let line = || theil_sen(&points).map(|line| (line.fixed, line.per_unit));
        let main = *subject == OURS || *subject == SEED;
        let fit = if metric == "time" && main { line() } else { None };
        let variant = || subjects.iter().any(|other| is_variant(subject, other));
        // Ours, the seed's, one of each peer; then their variants, and our other forms.
        let order = match *subject {
            OURS => 0,
            SEED => 1,
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
    let unit = figures.with_metric(metric).into_values().flatten().next().map(|row| &*row.unit);
    let quantity = match unit {
        Some("ns") => Quantity::Nanoseconds,
        Some("B") => Quantity::Bytes,
        _ => Quantity::Count,
    };
    let ends = |one: &Series| {
        let value = |y: f64| match quantity {
            Quantity::Nanoseconds => words::time(y),
            Quantity::Bytes => words::bytes(y),
            Quantity::Count => words::count(y),
        };
        let (first, last) = (one.points[0], one.points[one.points.len() - 1]);
        let (from, to) = (words::count(first.0), words::count(last.0));
        format!("{}: {} at {from}, {} at {to}", one.name, value(first.1), value(last.1))
    };
    let description = format!(
        "Both axes are logarithmic. {}.",
        series.iter().map(ends).collect::<Vec<_>>().join("; ")
    );
    let mut remarks = Vec::new();
    if series.iter().any(|one| one.fit.is_some()) {
        remarks.push("Dashed: the fitted line".to_owned());
    }
    if !left_out.is_empty() {
        remarks.push(format!("Only in the tables: {}", words::list(&left_out)));
    }
    Some(Chart::Curves(Curves {
        title: axes.title,
        note: remarks.join(". "),
        description,
        x: axes.parameter.into(),
        x_quantity: axes.quantity,
        y: noun.to_lowercase(),
        quantity,
        series,
    }))
}

/// "age-unbuffered" is a variant of "age".
fn is_variant(subject: &str, other: &str) -> bool {
    subject.strip_prefix(other).is_some_and(|rest| rest.starts_with('-'))
}

fn sentences(document: &mut Document, figures: &Figures<'_>, seal: &Case) {
    let mut items: Vec<(bool, Text)> = Vec::new();
    for growth in &figures.record.growth {
        let main = growth.subject == OURS || growth.subject == SEED;
        // What the others do when sealing stands in the table.
        if !main && figures.growth(seal, &growth.subject) == Some(growth) {
            continue;
        }
        let mut params = vec![words::tame(&growth.case).replace('_', " ")];
        params.extend(super::figures::describe_params(&growth.params));
        let title = format!("{}, {}", words::tame(&growth.subject), params.join(", "));
        items.push((!main, Text::new().strong(title).say(": ").say(&growth.sentence)));
    }
    items.sort_by_key(|(other, _)| *other);
    if figures.record.growth.is_empty() {
        document.paragraph("This run has too few group sizes to say how anything grows.");
    }
    document.list(items.into_iter().map(|(_, text)| text).collect());
}

/// Fixed cost, cost of each member and exponent of all subjects.
fn lines(figures: &Figures<'_>, case: &Case) -> Option<Table> {
    let mut table = Table::new(
        "Fitted lines: seal, 1 KB, by members",
        &["Subject", "fixed", "each member", "exponent", "sizes", "in words"],
    );
    let mut rows: Vec<(f64, Vec<Text>)> = Vec::new();
    for subject in figures.subjects() {
        let points = figures.over_members(case, subject, "time");
        let growth = figures.growth(case, subject);
        let line = figures.line(case, subject);
        let (fixed, each) = match (growth, line) {
            (Some(growth), _) => (growth.fixed_ns, growth.per_unit_ns),
            (None, Some(line)) => (line.fixed, line.per_unit),
            (None, None) => continue,
        };
        let signed = |ns: f64| {
            let sign = if ns < 0.0 { "-" } else { "" };
            format!("{sign}{}", words::time(ns.abs()))
        };
        let exponent = growth.map_or("–".into(), |growth| {
            let [low, high] = growth.exponent_ci95;
            format!("{:.2} ({low:.2}\u{2013}{high:.2})", growth.exponent)
        });
        // A sentence ends in its verdict: "…: linear".
        let verdict = growth.and_then(|growth| growth.sentence.rsplit_once(": ")).map(|(_, v)| v);
        let cells = vec![
            subject.into(),
            signed(fixed).into(),
            signed(each).into(),
            exponent.into(),
            points.len().to_string().into(),
            verdict.unwrap_or("–").into(),
        ];
        rows.push((each, cells));
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    rows.into_iter().for_each(|(_, cells)| table.row(cells));
    (!table.rows.is_empty()).then_some(table)
}

//! Bytes, memory, and CPU time where it is not the time that passed.

use super::document::{Document, Table, Text};
use super::figures::{Case, Figures, MEMBERS, OURS};
use super::growth::curves;
use crate::words;

pub(super) fn write(document: &mut Document, figures: &Figures<'_>) {
    document.section("Sizes");
    for view in figures.views() {
        view.report.sizes(document, figures);
    }
    document.section("Memory");
    memory(document, figures);
    document.section("CPU time");
    cpu(document, figures);
    own(document, figures);
}

/// Lengths of envelopes.
pub(super) fn envelope(document: &mut Document, figures: &Figures<'_>) {
    let size = Case::envelope("size", &[("bytes", 1024)]);
    let seal = Case::envelope("seal", &[("bytes", 1024)]);
    document.chart(curves(figures, &size, "size").or_else(|| curves(figures, &seal, "size")));
    sizes(document, figures);
}

/// Metrics that a suite brings.
fn own(document: &mut Document, figures: &Figures<'_>) {
    let metrics: Vec<&str> = figures
        .metrics()
        .into_iter()
        .filter(|metric| !["time", "cpu", "size", "allocations", "heap-peak"].contains(metric))
        .collect();
    if metrics.is_empty() {
        return;
    }
    document.section("Other figures");
    for metric in metrics {
        let name = words::tame(metric).replace('_', " ");
        let mut table = Table::new(&name, &["Subject", &name, "interval"]);
        for (case, rows) in figures.with_metric(metric) {
            table.group(format!("{}: {}", words::tame(&case.suite), case.describe()));
            for row in rows {
                let [low, high] = row.ci95.map(|bound| words::value(bound, &row.unit));
                let exact = row.ci95[0] >= row.ci95[1];
                table.row(vec![
                    Text::from(&*row.subject),
                    super::value_of(row).into(),
                    if exact { "exact".into() } else { format!("{low} to {high}").into() },
                ]);
            }
        }
        document.table(table);
    }
}

fn sizes(document: &mut Document, figures: &Figures<'_>) {
    let sized = figures.with_metric("size");
    let mut members: Vec<u64> = sized
        .keys()
        .filter(|case| case.params.get("bytes") == Some(&1024))
        .filter_map(|case| case.params.get(MEMBERS).copied())
        .collect();
    members.sort_unstable();
    members.dedup();
    let mut table = Table::new("Length of a message of 1 KB, by members", &["Subject"]);
    table.head.extend(members.iter().map(|members| Text::from(words::integer(*members))));
    table.head.push("each member".into());
    table.head.push("times endseal".into());
    let ours = figures.bytes_per_member(OURS);
    let mut rows: Vec<(f64, Vec<Text>)> = Vec::new();
    for subject in figures.subjects() {
        let sizes: Vec<Option<f64>> =
            members.iter().map(|members| figures.size(*members, 1024, subject)).collect();
        let Some(largest) = sizes.iter().flatten().last() else { continue };
        let each = figures.bytes_per_member(subject);
        let mut cells = vec![Text::from(subject)];
        let cell = |bytes: &Option<f64>| bytes.map_or("–".into(), |b| words::bytes(b).into());
        cells.extend(sizes.iter().map(cell));
        cells.push(cell(&each));
        cells.push(match each.zip(ours) {
            Some((each, ours)) if ours > 0.0 && subject != OURS => {
                words::factor(each / ours, None).into()
            }
            _ => "–".into(),
        });
        rows.push((each.unwrap_or(*largest), cells));
    }
    if rows.is_empty() {
        document.paragraph("This run measured no lengths.");
        return;
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    rows.into_iter().for_each(|(_, cells)| table.row(cells));
    document.table(table);
    document.paragraph(
        "Lengths are exact. \u{201c}Each member\u{201d} is the slope between the smallest and the \
         largest group.",
    );
}

fn memory(document: &mut Document, figures: &Figures<'_>) {
    let mut table = Table::new(
        "Heap of one call, in a pass of its own that is not timed",
        &["Subject", "peak heap", "allocations"],
    );
    let mut cases: Vec<&Case> = figures.with_metric("heap-peak").into_keys().collect();
    cases.extend(figures.with_metric("allocations").into_keys());
    cases.sort();
    cases.dedup();
    for case in cases {
        table.group(case.describe());
        for subject in figures.subjects() {
            let heap = figures.row(case, subject, "heap-peak");
            let allocations = figures.row(case, subject, "allocations");
            if heap.is_none() && allocations.is_none() {
                continue;
            }
            table.row(vec![
                subject.into(),
                heap.map_or("–".into(), |row| words::bytes(row.median).into()),
                allocations.map_or("–".into(), |row| words::count(row.median).into()),
            ]);
        }
    }
    if table.rows.is_empty() {
        document.paragraph("This run measured no memory.");
    }
    document.table(table);
}

fn cpu(document: &mut Document, figures: &Figures<'_>) {
    /// Closer than this, wall and CPU time say the same.
    const ALIKE: f64 = 0.1;
    let mut table = Table::new(
        "Where CPU time and the time that passed differ by more than 10 %",
        &["Case", "subject", "time", "CPU time", "CPUs busy"],
    );
    let measured = figures.with_metric("cpu");
    for (case, rows) in &measured {
        for cpu in rows {
            let Some(wall) = figures.row(case, &cpu.subject, "time") else { continue };
            let busy = cpu.median / wall.median;
            if !busy.is_finite() || (busy - 1.0).abs() <= ALIKE {
                continue;
            }
            table.row(vec![
                case.describe().into(),
                Text::from(&*cpu.subject),
                words::time(wall.median).into(),
                words::time(cpu.median).into(),
                words::digits(busy).into(),
            ]);
        }
    }
    if table.rows.is_empty() {
        document.paragraph(if measured.is_empty() {
            "This run measured no CPU time."
        } else {
            "In every case the CPU time was within 10 % of the time that passed: nothing waited, and \
             nothing ran in parallel."
        });
    }
    document.table(table);
}

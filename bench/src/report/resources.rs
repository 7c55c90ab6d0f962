//! Memory, CPU time where it is not the time that passed, distributions, and metrics of a suite's
//! own.

use super::case::Case;
use super::document::{Document, Table, Text};
use super::figures::Figures;
use crate::stats::quantile;
use crate::words;

pub(super) fn write(document: &mut Document, figures: &Figures<'_>) {
    document.section("Memory");
    memory(document, figures);
    document.section("CPU time");
    cpu(document, figures);
    document.section("Distribution of samples");
    distribution(document, figures);
    own(document, figures);
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

/// Quantiles of the samples of our subjects and the fewest rounds for which they mean something.
fn distribution(document: &mut Document, figures: &Figures<'_>) {
    /// One in twenty samples lies above P95.
    const ENOUGH_FOR_P95: usize = 20;
    const ENOUGH_FOR_P99: usize = 100;
    let head = ["Case", "subject", "samples", "P50", "P95", "P99"];
    let mut table = Table::new("Times of batches, one for each round", &head);
    for (case, rows) in figures.with_metric("time") {
        for row in rows {
            let samples = &row.samples;
            if samples.len() < ENOUGH_FOR_P95 || !super::figures::is_ours(&row.subject) {
                continue;
            }
            let at = |share| quantile(samples, share).map_or("–".into(), words::time);
            let p99 = if samples.len() < ENOUGH_FOR_P99 { "–".into() } else { at(0.99) };
            table.row(vec![
                case.describe().into(),
                Text::from(&*row.subject),
                words::integer(samples.len() as u64).into(),
                at(0.5).into(),
                at(0.95).into(),
                p99.into(),
            ]);
        }
    }
    if table.rows.is_empty() {
        document.paragraph("This run has too few rounds for quantiles.");
    }
    document.table(table);
}

/// Metrics that a suite brings.
fn own(document: &mut Document, figures: &Figures<'_>) {
    let common = ["time", "cpu", "size", "allocations", "heap-peak"];
    let metrics = figures.metrics().into_iter().filter(|metric| !common.contains(metric));
    let metrics: Vec<&str> = metrics.collect();
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
                let interval = match row.ci95 {
                    _ if row.n <= 1 => "exact".into(),
                    None => "–".into(),
                    Some(bounds) => bounds.map(|bound| words::value(bound, &row.unit)).join(" to "),
                };
                let value = words::value(row.median, &row.unit);
                table.row(vec![Text::from(&*row.subject), value.into(), interval.into()]);
            }
        }
        document.table(table);
    }
}

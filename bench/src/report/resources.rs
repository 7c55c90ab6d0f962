//! Writes the tables of memory. All other figures that no table shows are in the record.

use super::case::Case;
use super::document::{Document, Table};
use super::figures::Figures;
use crate::words;

pub(super) fn write(document: &mut Document, figures: &Figures<'_>) {
    document.section("Memory");
    memory(document, figures);
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

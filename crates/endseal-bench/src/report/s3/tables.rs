//! The tables of station 3.

use super::super::document::{Document, Table, Text};
use super::super::figures::{Case, Figures, OURS, is_ours, real};
use super::{
    GET, PUT, SERVER, SINK, SIZES, backend_text, in_chunks, median, object, one_byte, peak, share,
    short, size_text,
};
use crate::suite::s3::{DIRECT, PASS_THROUGH};
use crate::suite::s3::{MEMORY_SIZES, MEMORY_STREAM_BYTES, MEMORY_STREAMS, STREAMS};
use crate::words;

fn none() -> Text {
    "–".into()
}

fn digits(value: Option<f64>) -> Text {
    value.map_or_else(none, |value| words::digits(value).into())
}

pub(super) fn headlines(document: &mut Document, figures: &Figures<'_>) {
    let head =
        ["Job", "endseal here", PASS_THROUGH, "factor", DIRECT, "factor", "CPU of pass-through"];
    let mut table = Table::new("", &head);
    let jobs = [SINK, SERVER].into_iter().flat_map(|backend| {
        [(PUT, "up"), (GET, "down")].map(|(name, way)| {
            let place = if backend == SINK { "" } else { ", a real server" };
            (format!("100 MB {way}{place}"), object(name, SIZES[2], backend))
        })
    });
    for (job, case) in jobs {
        let Some(ours) = figures.row(&case, OURS, "mb_s") else { continue };
        let rate = |subject| {
            let rate = median(figures, &case, subject, "mb_s");
            rate.map_or_else(none, |rate| format!("{} MB/s", words::digits(rate)).into())
        };
        let cpu = |subject| median(figures, &case, subject, "cpu_s_per_gb");
        let cost = share(cpu(OURS), cpu(PASS_THROUGH));
        table.row(vec![
            job.into(),
            Text::new().strong(format!("{} MB/s", words::digits(ours.median))),
            rate(PASS_THROUGH),
            figures.factor_text(&case, OURS, PASS_THROUGH),
            rate(DIRECT),
            figures.factor_text(&case, OURS, DIRECT),
            cost.map_or_else(none, |cost| words::factor(cost, None).into()),
        ]);
    }
    document.table(table);
}

/// MB/s and CPU of all subjects, by size.
pub(super) fn transfers(document: &mut Document, figures: &Figures<'_>) {
    let sizes = |case: &dyn Fn(u64) -> Case| SIZES.map(|bytes| (bytes, case(bytes)));
    let mut tables = Vec::new();
    for backend in [SINK, SERVER] {
        let place = backend_text(backend);
        tables.push((format!("Up, before {place}"), sizes(&|it| object(PUT, it, backend))));
        if backend == SINK {
            let what = "Up in chunks with a checksum behind, as SDKs send over TLS";
            tables.push((format!("{what}, before {place}"), sizes(&in_chunks)));
        }
        tables.push((format!("Down, before {place}"), sizes(&|it| object(GET, it, backend))));
    }
    let mut written = false;
    for (caption, cases) in tables {
        let (sizes, all): (Vec<u64>, Vec<Case>) =
            cases.into_iter().filter(|(_, case)| figures.time(case, OURS).is_some()).unzip();
        if all.is_empty() {
            continue;
        }
        written = true;
        let mut table = Table::new(format!("{caption}: MB/s, CPU-s a GB"), &["Subject"]);
        table.head.extend(sizes.iter().map(|bytes| Text::from(size_text(*bytes))));
        for subject in ordered(figures, &all) {
            let mut cells = vec![Text::from(subject)];
            cells.extend(all.iter().map(|case| rate_and_cost(figures, case, subject)));
            table.row(cells);
        }
        document.table(table);
    }
    if !written {
        document.paragraph("This run measured no objects up and down.");
        return;
    }
    document.paragraph(
        "CPU is that of the proxy's process alone (with minio, that of the server). A GB has 10^9 bytes. \
         The client compares every byte that comes down with what it had sent up.",
    );
}

fn rate_and_cost(figures: &Figures<'_>, case: &Case, subject: &str) -> Text {
    let [rate, cpu] = ["mb_s", "cpu_s_per_gb"].map(|metric| median(figures, case, subject, metric));
    let Some(rate) = rate else { return none() };
    let text = Text::from(format!("{} MB/s", words::digits(rate)));
    match cpu {
        Some(cpu) => text.line_break().say(format!("{} s/GB", words::digits(cpu))),
        None => text,
    }
}

/// Short objects.
pub(super) fn small(document: &mut Document, figures: &Figures<'_>) {
    let head = ["Subject", "requests a second", "endseal", "CPU a request", "times pass-through"];
    let mut table = Table::new("Objects of 4 KB", &head);
    for streams in [1, STREAMS] {
        for (down, way) in [(0, "up"), (1, "down")] {
            let case = short(down, streams);
            if figures.time(&case, OURS).is_none() {
                continue;
            }
            table.group(format!("{way}, connections: {streams}"));
            let cpu = |subject| median(figures, &case, subject, "cpu_per_request");
            for subject in ordered(figures, core::slice::from_ref(&case)) {
                let factor = match subject == OURS {
                    true => none(),
                    false => figures.factor_text(&case, OURS, subject),
                };
                let rate = median(figures, &case, subject, "requests_s");
                let times = share(cpu(subject), cpu(PASS_THROUGH));
                table.row(vec![
                    Text::from(subject),
                    rate.map_or_else(none, |rate| words::count(rate).into()),
                    factor,
                    cpu(subject).map_or_else(none, |cpu| words::time(cpu).into()),
                    times.map_or_else(none, |times| words::factor(times, None).into()),
                ]);
            }
        }
    }
    if table.rows.is_empty() {
        document.paragraph("This run measured no short objects.");
    }
    document.table(table);
}

/// What one byte costs.
pub(super) fn range(document: &mut Document, figures: &Figures<'_>) {
    let head = ["Subject", "time", "requests to the backend", "bytes from the backend"];
    let mut table = Table::new("One byte of an object of 100 MB", &head);
    for subject in ordered(figures, &[one_byte()]) {
        let of = |metric| median(figures, &one_byte(), subject, metric);
        table.row(vec![
            Text::from(subject),
            of("time").map_or_else(none, |ns| words::time(ns).into()),
            digits(of("backend_requests")),
            of("backend_bytes").map_or_else(none, |bytes| words::bytes(bytes).into()),
        ]);
    }
    if table.rows.is_empty() {
        document.paragraph("This run measured no ranges.");
    }
    document.table(table);
}

/// The most memory of each process.
pub(super) fn memory(document: &mut Document, figures: &Figures<'_>) {
    let mut columns: Vec<(String, Case)> = Vec::new();
    for (down, way) in [(0, "up"), (1, "down")] {
        for bytes in MEMORY_SIZES {
            columns.push((format!("{} {way}", size_text(bytes)), peak(bytes, down, 1)));
        }
        let what = format!("{MEMORY_STREAMS} × {} {way}", size_text(MEMORY_STREAM_BYTES));
        columns.push((what, peak(MEMORY_STREAM_BYTES, down, MEMORY_STREAMS)));
    }
    let of = |case: &Case, subject: &str| median(figures, case, subject, "peak_rss_mb");
    columns.retain(|(_, case)| figures.subjects().iter().any(|it| of(case, it).is_some()));
    if columns.is_empty() {
        document.paragraph("This run measured no memory of processes.");
        return;
    }
    let mut table = Table::new("The most memory of the proxy's process, in MB", &["Subject"]);
    table.head.extend(columns.iter().map(|(what, _)| Text::from(&**what)));
    for subject in figures.subjects() {
        let cells: Vec<Option<f64>> = columns.iter().map(|(_, case)| of(case, subject)).collect();
        if cells.iter().any(Option::is_some) {
            let mut row = vec![Text::from(subject)];
            row.extend(cells.into_iter().map(digits));
            table.row(row);
        }
    }
    document.table(table);
    let per_stream = |down| {
        let many = of(&peak(MEMORY_STREAM_BYTES, down, MEMORY_STREAMS), OURS)?;
        let one = of(&peak(MEMORY_SIZES[0], down, 1), OURS)?;
        Some((many - one) / real(MEMORY_STREAMS - 1))
    };
    if let (Some(up), Some(down)) = (per_stream(0), per_stream(1)) {
        document.paragraph(format!(
            "Each stream beyond the first adds {} MB up and {} MB down in endseal.",
            words::digits(up),
            words::digits(down)
        ));
    }
}

/// What sealing costs beside passing on.
pub(super) fn price(document: &mut Document, figures: &Figures<'_>) {
    let head = ["Job", "endseal, CPU", "passed on, CPU", "times the CPU", "times the speed"];
    let mut table = Table::new("Objects sealed and authenticated, beside passed on", &head);
    for (name, way) in [(PUT, "up"), (GET, "down")] {
        let case = object(name, SIZES[2], SINK);
        let [ours, pass] =
            [OURS, PASS_THROUGH].map(|it| median(figures, &case, it, "cpu_s_per_gb"));
        let (Some(ours), Some(pass)) = (ours, pass) else { continue };
        table.row(vec![
            format!("100 MB {way}").into(),
            format!("{} s/GB", words::digits(ours)).into(),
            format!("{} s/GB", words::digits(pass)).into(),
            words::factor(ours / pass, None).into(),
            figures.factor_text(&case, OURS, PASS_THROUGH),
        ]);
    }
    for (down, way) in [(0, "up"), (1, "down")] {
        let case = short(down, 1);
        let [ours, pass] =
            [OURS, PASS_THROUGH].map(|it| median(figures, &case, it, "cpu_per_request"));
        let (Some(ours), Some(pass)) = (ours, pass) else { continue };
        table.row(vec![
            format!("4 KB {way}").into(),
            words::time(ours).into(),
            words::time(pass).into(),
            words::factor(ours / pass, None).into(),
            figures.factor_text(&case, OURS, PASS_THROUGH),
        ]);
    }
    document.table(table);
}

/// Those that have a time in one of the cases: ours first, then by name.
fn ordered<'f>(figures: &'f Figures<'_>, cases: &[Case]) -> Vec<&'f str> {
    let timed = |subject: &&str| cases.iter().any(|case| figures.time(case, subject).is_some());
    let mut subjects: Vec<&str> = figures.subjects().into_iter().filter(timed).collect();
    subjects.sort_by_key(|subject| (!is_ours(subject), *subject));
    subjects
}

//! The seed's own table: as published, the seed's method here, ours here; up and down.

use super::super::chart::{Bar, BarGroup, Bars, Chart, Quantity, Scale};
use super::super::document::{Document, Table, Text};
use super::super::figures::{Case, Figures, OURS};
use super::{GET, PUT, SEED, SERVER, SINK, SIZES, backend_text, median, object, size_text};
use crate::suite::s3::{DIRECT, PASS_THROUGH};
use crate::words;

/// MB a second up and down, by size: a proxy in Go before MinIO.
pub(super) const PUBLISHED: [(f64, f64); 4] =
    [(66.9, 183.8), (78.3, 194.2), (80.5, 193.3), (48.7, 184.8)];

pub(super) fn write(document: &mut Document, figures: &Figures<'_>) {
    document.section("The seed's table of objects, row by row");
    document.paragraph(
        Text::new()
            .say(
                "The suite started from what was published of an encrypting S3 proxy: MB a second up and \
                 down, by size. As published, the seed's method run here (",
            )
            .code(SEED)
            .say("), ours here."),
    );
    document.list(vec![
        "An object of 10 MB has 10 × 1,048,576 bytes; a rate of 1 MB/s is 1,000,000 bytes a second. What \
         the seed counts is not said: the two differ by 5 %."
            .into(),
        "The seed itself does not encrypt without a licence, so its method is written anew: AES-256-CTR \
         in segments of 12 MB, parts of 5 MB of which 3 are on their way, an HMAC over the object. It \
         verifies no signature of a client, which ours does."
            .into(),
        "What comes down through the seed's method is authenticated when all of it has been given out, \
         ours before."
            .into(),
    ]);
    let mut written = false;
    for backend in [SERVER, SINK] {
        let table = rows(figures, backend);
        written |= table.is_some();
        if let Some(table) = table {
            document.table(table);
        }
    }
    if !written {
        document.paragraph("This run measured no objects up and down.");
    }
    let has_server = SIZES.iter().any(|bytes| measured(figures, &object(PUT, *bytes, SERVER)));
    if written && !has_server {
        document.paragraph(
            "No real server was measured: see \u{201c}Not measured\u{201d} for what would be needed.",
        );
    }
    document.chart(bars(figures, if has_server { SERVER } else { SINK }));
}

fn measured(figures: &Figures<'_>, case: &Case) -> bool {
    figures.time(case, OURS).is_some()
}

fn rows(figures: &Figures<'_>, backend: u64) -> Option<Table> {
    let head = [
        "Object",
        "up, as published",
        "up, seed-ctr here",
        "up, endseal here",
        "factor",
        "down, as published",
        "down, seed-ctr here",
        "down, endseal here",
        "factor",
    ];
    let caption = format!("MB/s before {}", backend_text(backend));
    let mut table = Table::new(caption, &head);
    let any = SIZES.iter().any(|bytes| {
        [PUT, GET].iter().any(|name| measured(figures, &object(name, *bytes, backend)))
    });
    for (bytes, (up, down)) in SIZES.into_iter().zip(PUBLISHED) {
        let mut cells = vec![size_text(bytes).into()];
        for (name, published) in [(PUT, up), (GET, down)] {
            let case = object(name, bytes, backend);
            let rate = |subject| {
                let rate = median(figures, &case, subject, "mb_s");
                rate.map_or_else(Text::not_measured, |rate| words::digits(rate).into())
            };
            cells.push(words::digits(published).into());
            cells.extend([rate(SEED), rate(OURS), figures.factor_text(&case, OURS, SEED)]);
        }
        table.row(cells);
    }
    any.then_some(table)
}

fn bars(figures: &Figures<'_>, backend: u64) -> Option<Chart> {
    let mut groups = Vec::new();
    let mut description = Vec::new();
    for (bytes, (up, down)) in SIZES.into_iter().zip(PUBLISHED) {
        for (name, way, published) in [(PUT, "up", up), (GET, "down", down)] {
            let case = object(name, bytes, backend);
            if !measured(figures, &case) {
                continue;
            }
            let mut bars = vec![Bar {
                name: "published".into(),
                median: published,
                ci95: [published, published],
                text: format!("{} MB/s", words::digits(published)),
                alike: false,
            }];
            for subject in [SEED, OURS, PASS_THROUGH, DIRECT] {
                let row = figures.row(&case, subject, "mb_s");
                bars.extend(row.map(|row| Bar {
                    name: subject.into(),
                    median: row.median,
                    ci95: row.ci95,
                    text: format!("{} MB/s", words::digits(row.median)),
                    alike: subject == OURS,
                }));
            }
            let title = format!("{}, {way}", size_text(bytes));
            let each: Vec<String> =
                bars.iter().map(|bar| format!("{} {}", bar.name, bar.text)).collect();
            description.push(format!("{title}: {}.", each.join("; ")));
            groups.push(BarGroup { title, bars });
        }
    }
    (!groups.is_empty()).then(|| {
        Chart::Bars(Bars {
            scale: Scale::Amount(Quantity::Count),
            title: format!("Objects up and down, before {}", backend_text(backend)),
            note: "MB a second, of 1,000,000 bytes. Published: another machine. Logarithmic, longer is \
                   better"
                .into(),
            description: format!("Logarithmic axis of MB a second. {}", description.join(" ")),
            groups,
        })
    })
}

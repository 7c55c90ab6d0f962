//! Writes the fitted growth of the cases of a suite.

use std::collections::BTreeMap;

use super::case::describe_params;
use super::document::{Document, Table, Text};
use super::figures::{Figures, is_floor, is_ours};
use crate::record::{Growth, Params};
use crate::suite::Suite;
use crate::words;

/// Writes fixed cost, cost of each unit and exponent of all subjects, by case.
pub(crate) fn write(document: &mut Document, figures: &Figures<'_>, suite: &Suite) {
    for growing in suite.grows_by {
        let head = ["Subject", "fixed", growing.one, "exponent", "in words"];
        let head = head.map(|text| text.replace("a ", "each "));
        let caption = format!("Fitted lines, by {}", growing.parameter);
        let mut table = Table::new(caption, &[]);
        table.head = head.iter().map(|text| Text::from(&**text)).collect();
        let mut groups: BTreeMap<(&str, &Params), Vec<&Growth>> = BTreeMap::new();
        let of_suite = figures.record.growth.iter().filter(|growth| {
            growth.suite == suite.name
                && growth.parameter == growing.parameter
                && !is_floor(suite.name, &growth.subject)
        });
        for growth in of_suite {
            groups.entry((&growth.case, &growth.params)).or_default().push(growth);
        }
        for ((case, params), mut rows) in groups {
            let mut title = vec![words::tame(case).replace('_', " ")];
            title.extend(describe_params(params));
            table.group(title.join(", "));
            rows.sort_by(|a, b| {
                (!is_ours(&a.subject))
                    .cmp(&!is_ours(&b.subject))
                    .then(a.per_unit_ns.total_cmp(&b.per_unit_ns))
            });
            for growth in rows {
                table.row(cells(growth, f64::from(growing.unit), growing.many));
            }
        }
        if table.rows.is_empty() {
            document.paragraph("This run has too few sizes to say how anything grows.");
        }
        document.table(table);
    }
    document.paragraph(
        "A line is fitted by Theil and Sen (the median of the slopes of all pairs), the exponent on \
         logarithms: 1.00 is linear, 0 is constant.",
    );
}

fn cells(growth: &Growth, unit: f64, many: &str) -> Vec<Text> {
    let signed = |ns: f64| {
        let sign = if ns < 0.0 { "-" } else { "" };
        format!("{sign}{}", words::time(ns.abs()))
    };
    let [low, high] = growth.exponent_ci95;
    vec![
        Text::from(&*growth.subject),
        signed(growth.fixed_ns).into(),
        signed(growth.per_unit_ns * unit).into(),
        format!("{:.2} ({low:.2}\u{2013}{high:.2})", growth.exponent).into(),
        law(growth.exponent, many).into(),
    ]
}

/// Describes the power law in words.
fn law(exponent: f64, many: &str) -> String {
    match exponent {
        e if e < 0.15 => "hardly grows".into(),
        e if e < 0.85 => format!("grows more slowly than the {many}"),
        e if e < 1.15 => "linear".into(),
        e if e < 1.85 => format!("grows faster than the {many}"),
        _ => "quadratic or worse".into(),
    }
}

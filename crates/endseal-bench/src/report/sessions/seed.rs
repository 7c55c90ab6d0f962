//! The seed's own table: as published, the seed's method here, ours here; before and after.

use super::super::chart::{Bar, BarGroup, Bars, Chart, Quantity, Scale};
use super::super::document::{Document, Table, Text};
use super::super::figures::{Case, Figures, OURS};
use super::{AFTER, BEFORE, beside, scenario_text, single, time_cell, whole};
use crate::record::Row;
use crate::suite::sessions::SCENARIOS;
use crate::words;

/// Milliseconds before and after, by scenario: an application on a phone.
const PUBLISHED: [(f64, f64); 3] = [(10_218.0, 6_046.0), (5_025.0, 2_920.0), (24_768.0, 13_717.0)];

pub(super) fn write(document: &mut Document, figures: &Figures<'_>) {
    document.section("The seed's table of backlogs, row by row");
    document.paragraph(
        Text::new()
            .say(
                "The suite started from what Wire published of its messenger when its library got \
                 transactions: a backlog was processed with the state written after each message \
                 (before), and then in one transaction (after). As published, that library run here \
                 (",
            )
            .code(AFTER)
            .say(", with one message a transaction and with all in one), ours here in the same way."),
    );
    document.list(vec![
        "What was published is a whole application on a phone; what runs here is the decryption and \
         what is kept. The ratio of before and after is therefore larger here: of the published time \
         after, most was never decryption."
            .into(),
        "Before and after depend on how long the disk takes to synchronise; see below.".into(),
        Text::new()
            .code(BEFORE)
            .say(" is the library as it was before, without transactions at all."),
    ]);
    document.table(rows(figures));
    document.chart(bars(figures));
}

fn rows(figures: &Figures<'_>) -> Table {
    let head = [
        "Scenario, before \u{2192} after",
        "as published",
        "core-crypto-jvm here",
        "core-crypto here",
        "endseal here",
        "after: factor",
    ];
    let mut table = Table::new("", &head);
    let mut gains: [Vec<Option<f64>>; 3] = Default::default();
    for (scenario, (before, after)) in SCENARIOS.into_iter().zip(PUBLISHED) {
        let (all, one) = (whole(scenario, 1), single(scenario, 1));
        let gain = |subject| beside(figures, (&one, subject), (&all, subject)).map(|it| 1.0 - it);
        let found = [Some(1.0 - after / before), gain(AFTER), gain(OURS)];
        for (all, one) in gains.iter_mut().zip(found) {
            all.push(one);
        }
        let time = |case: &Case, subject| figures.time(case, subject).map(|row| row.median);
        let both = |subject| (time(&one, subject), time(&all, subject));
        let [published, theirs, ours] = found;
        table.row(vec![
            scenario_text(scenario).into(),
            from_to((Some(before * 1e6), Some(after * 1e6)), published),
            time_cell(figures.time(&one, BEFORE)),
            from_to(both(AFTER), theirs),
            from_to(both(OURS), ours),
            figures.factor_text(&all, OURS, AFTER),
        ]);
    }
    let [published, theirs, ours] = gains.map(|all| gain_text(mean(&all)));
    let none = || Text::from("\u{2013}");
    table.row(vec!["mean gain".into(), published, none(), theirs, ours, none()]);
    table
}

/// "10.2 s → 6.05 s" and, below it, the gain.
fn from_to((before, after): (Option<f64>, Option<f64>), gain: Option<f64>) -> Text {
    if before.or(after).is_none() {
        return Text::not_measured();
    }
    let time = |ns: Option<f64>| ns.map_or("\u{2013}".to_owned(), words::time);
    let text = Text::from(format!("{} \u{2192} {}", time(before), time(after)));
    match gain {
        Some(_) => text.line_break().join(gain_text(gain)),
        None => text,
    }
}

/// As the seed states it: the share of the time that is gone.
fn gain_text(gain: Option<f64>) -> Text {
    gain.map_or("–".into(), |gain| format!("{:.2} %", gain * 100.0).into())
}

/// Of all rows, if all were measured.
#[allow(clippy::cast_precision_loss, reason = "three rows")]
fn mean(all: &[Option<f64>]) -> Option<f64> {
    let known: Option<Vec<f64>> = all.iter().copied().collect();
    let known = known.filter(|known| !known.is_empty())?;
    Some(known.iter().sum::<f64>() / known.len() as f64)
}

fn bars(figures: &Figures<'_>) -> Option<Chart> {
    let mut groups = Vec::new();
    let mut description = Vec::new();
    let mut measured = false;
    for (scenario, (before, after)) in SCENARIOS.into_iter().zip(PUBLISHED) {
        let (all, one) = (whole(scenario, 1), single(scenario, 1));
        let mut bars =
            vec![published("published, before", before), published("published, after", after)];
        for (name, case, subject) in [
            ("core-crypto-jvm", &one, BEFORE),
            ("core-crypto, before", &one, AFTER),
            ("core-crypto, after", &all, AFTER),
            ("endseal, before", &one, OURS),
            ("endseal, after", &all, OURS),
        ] {
            let row = figures.time(case, subject);
            measured |= row.is_some();
            bars.extend(row.map(|row| bar(name, row)));
        }
        let title = scenario_text(scenario);
        let each: Vec<String> =
            bars.iter().map(|bar| format!("{} {}", bar.name, bar.text)).collect();
        description.push(format!("{title}: {}.", each.join("; ")));
        groups.push(BarGroup { title, bars });
    }
    measured.then(|| {
        Chart::Bars(Bars {
            scale: Scale::Amount(Quantity::Nanoseconds),
            title: "A backlog before and after transactions".into(),
            note: "Before: one message a transaction; after: all in one. Published: a whole \
                   application on a phone. Logarithmic, shorter is better"
                .into(),
            description: format!("Logarithmic axis of time. {}", description.join(" ")),
            groups,
        })
    })
}

fn published(name: &str, ms: f64) -> Bar {
    let ns = ms * 1e6;
    Bar { name: name.into(), median: ns, ci95: [ns, ns], text: words::time(ns), alike: false }
}

fn bar(name: &str, row: &Row) -> Bar {
    Bar {
        name: name.into(),
        median: row.median,
        ci95: row.ci95,
        text: words::time(row.median),
        alike: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figure that the seed states.
    #[test]
    fn the_published_rows_have_the_published_mean() {
        let gains: Vec<_> =
            PUBLISHED.iter().map(|(before, after)| Some(1.0 - after / before)).collect();
        assert_eq!(gain_text(mean(&gains)), "42.45 %".into());
        assert_eq!(mean(&[Some(1.0), None]), None);
    }
}

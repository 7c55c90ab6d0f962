//! The seed's own tables, row by row: as published, the seed's method here, ours here.

use super::super::document::{Document, Table, Text};
use super::super::figures::{Case, Figures, OURS};
use super::super::front::time_text;
use super::published::{CODEC, Figure, Line, REMARKS, SOURCE, SeedRow, SeedTable};
use super::{ARRAY, BASE64, bytes, bytes_text};
use crate::suite::codec::DIRECT;
use crate::words;

pub(super) fn write(document: &mut Document, figures: &Figures<'_>) {
    document.section("The seed's tables of encoding, row by row");
    document.paragraph(
        Text::new()
            .say("The suite started from ")
            .link("a published baseline", SOURCE)
            .say(
                " of a messenger in Rust (2026-01-29), which wraps JSON into JSON into JSON. Each of \
                 its rows, under its own name: as published, the seed's method run here (",
            )
            .code(ARRAY)
            .say(" and ")
            .code(BASE64)
            .say("), ours here (")
            .code(OURS)
            .say(", and ")
            .code(DIRECT)
            .say(" where a table says so)."),
    );
    let mut remarks: Vec<Text> = REMARKS.iter().map(|remark| Text::from(*remark)).collect();
    for ours in [OURS, DIRECT] {
        let case = super::text("roundtrip", super::KB8, 3);
        let ran = figures.subjects().contains(ARRAY) && figures.subjects().contains(ours);
        if let Some(difference) = figures.difference_at(&case, ours, ARRAY).filter(|_| ran) {
            let words = format!(
                "Factors of {ours} above layer 1 are in italics: beside it, the seed's method \
                 {difference}."
            );
            remarks.push(words.into());
        }
    }
    document.list(remarks);
    for table in CODEC {
        document.table(columns(table, figures));
    }
}

fn columns(seed: &SeedTable, figures: &Figures<'_>) -> Table {
    let [(one, one_head), (other, other_head)] = seed.theirs;
    let beside = |subject: &str| match subject {
        ARRAY if other == BASE64 => "ours beside lists".to_owned(),
        ARRAY => "ours beside JSON".to_owned(),
        BASE64 => "ours beside Base64".to_owned(),
        subject => format!("ours beside {subject}"),
    };
    let (first, second) = (beside(one), beside(other));
    let head = [seed.names, "as published", one_head, other_head, "ours here", &*first, &*second];
    let mut table = Table::new(seed.title, &head);
    for line in seed.lines {
        match line {
            Line::Group(title) => table.group(*title),
            Line::Row(row) => {
                table.row(cells(row, [one, other], figures));
                if let Figure::Time { case, bytes, layer } = row.figure {
                    let case = super::text(case, bytes, layer);
                    let mut cells = vec![format!("{}, words", row.name).into(), "–".into()];
                    cells.extend(times(&case, row.ours, [one, other], figures));
                    table.row(cells);
                }
            }
        }
    }
    table.notes = seed.notes.iter().map(|note| Text::from(*note)).collect();
    table
}

fn cells(row: &SeedRow, [one, other]: [&str; 2], figures: &Figures<'_>) -> Vec<Text> {
    let published = Text::from(row.published);
    let published = if row.note > 0 { published.note(row.note) } else { published };
    let mut cells = vec![row.name.into(), published];
    match row.figure {
        Figure::Time { case, bytes, layer } => {
            let case = super::letter(case, bytes, layer);
            cells.extend(times(&case, row.ours, [one, other], figures));
        }
        Figure::Size { bytes: length, layer } => {
            let case = super::letter("wire_size", length, layer);
            let cell =
                |subject| bytes_text(figures, &case, subject).unwrap_or_else(Text::not_measured);
            cells.extend([one, other, row.ours].map(cell));
            let of = |subject| bytes(figures, &case, subject);
            cells.extend([one, other].map(|theirs| match (of(row.ours), of(theirs)) {
                (Some(ours), Some(theirs)) if ours > 0.0 => {
                    let words = smaller(theirs / ours);
                    match figures.difference_at(&case, row.ours, one) {
                        Some(_) => Text::new().emphasis(words),
                        None => words.into(),
                    }
                }
                _ => "–".into(),
            }));
        }
        Figure::Facts(seed, ours) => {
            cells.extend([seed, seed, ours, "–", "–"].map(Text::from));
        }
        Figure::Elsewhere => cells.extend(["–"; 5].map(Text::from)),
    }
    cells
}

/// Times of the three who stand in the columns, and the factors of ours.
fn times(case: &Case, ours: &str, theirs: [&str; 2], figures: &Figures<'_>) -> Vec<Text> {
    let [one, other] = theirs;
    let cell = |subject| {
        let row = figures.time(case, subject);
        row.map_or_else(Text::not_measured, |row| match &*row.metric {
            "cpu" => time_text(row),
            _ => words::time_within(row.median, row.ci95).into(),
        })
    };
    let mut cells: Vec<Text> = [one, other, ours].map(cell).into();
    cells.extend(theirs.map(|theirs| figures.factor_text(case, ours, theirs)));
    cells
}

/// "12.3× smaller", "1.005× larger".
fn smaller(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 1.0 => words::fine_factor(1.0 / ratio) + " larger",
        ratio => words::fine_factor(ratio) + " smaller",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Extent, Suite};

    #[test]
    fn every_extent_fills_every_row() {
        for extent in [Extent::Quick, Extent::Default, Extent::Full] {
            let cases = Suite::find("codec").unwrap().cases(extent);
            let lines = CODEC.iter().flat_map(|table| table.lines);
            for row in
                lines.filter_map(|line| if let Line::Row(row) = line { Some(row) } else { None })
            {
                let needed = match row.figure {
                    Figure::Time { case, bytes, layer } => vec![
                        super::super::letter(case, bytes, layer),
                        super::super::text(case, bytes, layer),
                    ],
                    Figure::Size { bytes, layer } => {
                        vec![super::super::letter("wire_size", bytes, layer)]
                    }
                    Figure::Facts(..) | Figure::Elsewhere => continue,
                };
                for needed in needed {
                    let found = |case: &crate::suite::Case| {
                        case.case == needed.case && case.params == needed.params
                    };
                    assert!(
                        cases.iter().any(found),
                        "{extent:?}: {} for {}",
                        needed.describe(),
                        row.name
                    );
                }
            }
        }
    }

    #[test]
    fn every_footnote_is_there_and_used() {
        for table in CODEC {
            let used = |number: usize| {
                table.lines.iter().any(|line| matches!(line, Line::Row(row) if row.note == number))
            };
            assert!((1..=table.notes.len()).all(used), "{}", table.title);
            assert!(!used(table.notes.len() + 1), "{}", table.title);
        }
    }
}

//! The seed's own tables, row by row, in three columns.

use super::document::{Document, Table, Text};
use super::figures::{Case, Figures, MEMBERS, OURS, SEED, describe_params, real};
use super::front::{differs, many, time_text};
use super::seed_tables::{ENVELOPE, Figure, REMARKS, SCALED, SOURCE, SeedTable};
use crate::words;

pub(super) fn write(document: &mut Document, figures: &Figures<'_>) {
    document.section("The seed's tables, row by row");
    document.paragraph(
        Text::new()
            .say("The suite started from ")
            .link("a published benchmark", SOURCE)
            .say(
                " of a group envelope in TypeScript (2025-11-01). Each of its rows, under its own \
                 name: as published, the seed's method run here (",
            )
            .code(SEED)
            .say("), ours here (")
            .code(OURS)
            .say("). Where a message size is not named it is 1 KB."),
    );
    let mut remarks: Vec<Text> = REMARKS.iter().map(|remark| Text::from(*remark)).collect();
    let seed_ran = figures.subjects().contains(SEED);
    if let Some(difference) = differs(figures, SEED).filter(|_| seed_ran) {
        remarks.push(format!("Factors are in italics: {difference}").into());
    }
    document.list(remarks);
    for table in ENVELOPE {
        document.table(three_columns(table, figures));
    }
}

fn three_columns(seed: &SeedTable, figures: &Figures<'_>) -> Table {
    let head = [seed.names, "as published", "the seed's method here", "ours here", "factor"];
    let mut table = Table::new(seed.title, &head);
    let mut rows: Vec<(u64, Vec<Text>)> = Vec::new();
    for row in seed.rows {
        let mut name = Text::from(row.name);
        if let Some(case) = case_of(row.figure, figures).filter(|_| is_many(row.figure)) {
            name = name.say(format!(" ({})", describe_params(&case.params).join(", ")));
        }
        let published = Text::from(row.published);
        let published = if row.note > 0 { published.note(row.note) } else { published };
        rows.push((members_of(row.figure), cells(name, published, row.figure, figures)));
    }
    if seed.grows {
        for members in further(seed, figures) {
            let figure = with_members(seed.rows[0].figure, members);
            let name = match figure {
                Figure::Open { .. } => format!("{}-member group", words::integer(members)),
                _ => words::integer(members),
            };
            rows.push((members, cells(name.into(), "–".into(), figure, figures)));
        }
        rows.sort_by_key(|(members, _)| *members);
    }
    rows.into_iter().for_each(|(_, cells)| table.row(cells));
    table.notes = seed.notes.iter().map(|note| Text::from(*note)).collect();
    table
}

fn cells(name: Text, published: Text, figure: Figure, figures: &Figures<'_>) -> Vec<Text> {
    let cell = |subject| value(figure, subject, figures).unwrap_or_else(Text::not_measured);
    vec![name, published, cell(SEED), cell(OURS), factor(figure, figures)]
}

/// Group sizes that were measured and are not among the published ones.
fn further(seed: &SeedTable, figures: &Figures<'_>) -> Vec<u64> {
    let published = |members: &u64| {
        seed.rows.iter().any(|row| with_members(row.figure, *members) == row.figure)
    };
    let name = match seed.rows[0].figure {
        Figure::Open { .. } => ["open", "open"],
        Figure::Size { .. } => ["size", "seal"],
        _ => ["seal", "seal"],
    };
    let mut members: Vec<u64> = figures
        .record
        .rows
        .iter()
        .filter(|row| row.suite == "envelope" && name.contains(&row.case.as_str()))
        .filter(|row| row.params.len() == 2 && row.params.get("bytes") == Some(&1024))
        .filter_map(|row| row.params.get(MEMBERS).copied())
        .filter(|members| !published(members))
        .collect();
    members.sort_unstable();
    members.dedup();
    members.retain(|members| {
        let figure = with_members(seed.rows[0].figure, *members);
        [SEED, OURS].iter().any(|subject| value(figure, subject, figures).is_some())
    });
    members
}

fn with_members(figure: Figure, members: u64) -> Figure {
    match figure {
        Figure::Seal { bytes, .. } => Figure::Seal { members, bytes },
        Figure::SealEach { .. } => Figure::SealEach { members },
        Figure::Open { bytes, .. } => Figure::Open { members, bytes },
        Figure::Size { .. } => Figure::Size { members },
        other => other,
    }
}

fn members_of(figure: Figure) -> u64 {
    match figure {
        Figure::Seal { members, .. }
        | Figure::SealEach { members }
        | Figure::Open { members, .. }
        | Figure::Size { members } => members,
        _ => 0,
    }
}

fn is_many(figure: Figure) -> bool {
    matches!(figure, Figure::SealMany { .. } | Figure::OpenMany { .. })
}

fn seal(members: u64, bytes: u64) -> Case {
    Case::envelope("seal", &[(MEMBERS, members), ("bytes", bytes)])
}

/// The case whose time a row is about.
fn case_of(figure: Figure, figures: &Figures<'_>) -> Option<Case> {
    match figure {
        Figure::Seal { members, bytes } => Some(seal(members, bytes)),
        Figure::SealEach { members } | Figure::Scaling { members } => Some(seal(members, 1024)),
        Figure::SealRange { to, .. } => Some(seal(to, 1024)),
        Figure::Open { members, bytes } => {
            Some(Case::envelope("open", &[(MEMBERS, members), ("bytes", bytes)]))
        }
        Figure::SealMany { count } => many(figures, "seal_many", count),
        Figure::OpenMany { count } => many(figures, "open_many", count),
        _ => None,
    }
}

/// The cell of a subject.
fn value(figure: Figure, subject: &str, figures: &Figures<'_>) -> Option<Text> {
    let time = |case: &Case| figures.time(case, subject);
    let size = |members| figures.size(members, 1024, subject);
    match figure {
        Figure::Seal { .. } | Figure::Open { .. } => {
            let row = time(&case_of(figure, figures)?)?;
            Some(if row.metric == "cpu" {
                time_text(row)
            } else {
                words::time_within(row.median, row.ci95).into()
            })
        }
        Figure::SealEach { members } => {
            Some(words::time(time(&seal(members, 1024))?.median / real(members)).into())
        }
        Figure::SealRange { from, to } => {
            let high = time(&seal(to, 1024))?.median;
            let low = time(&seal(from, 1024)).filter(|_| from != to);
            Some(match low {
                Some(low) => {
                    format!("{}\u{2013}{}", words::time(low.median), words::time(high)).into()
                }
                None => words::time(high).into(),
            })
        }
        Figure::Scaling { members } => {
            let row = time(&seal(members, 1024))?;
            let (each, average) = (row.median / real(members), average_each(subject, figures)?);
            let away = (each - average).abs() / average;
            let (time, each) = (words::time(row.median), words::time(each));
            Some(format!("{time}; {each}; {:.0} %", away * 100.0).into())
        }
        Figure::ScalingAverage => Some(words::time(average_each(subject, figures)?).into()),
        Figure::Size { members } => Some(words::bytes(size(members)?).into()),
        Figure::SizeKeys { members } => Some(words::bytes(size(members)? - 1024.0).into()),
        Figure::SizeEach { members } => {
            Some(words::bytes((size(members)? - 1024.0) / real(members)).into())
        }
        Figure::Bandwidth { members } => {
            Some(format!("{:.1} KB/s", size(members)? / 1024.0).into())
        }
        Figure::Step => Some("–".into()),
        Figure::Heap { members } => {
            let row = figures.row(&seal(members, 1024), subject, "heap-peak")?;
            Some(words::bytes(row.median).into())
        }
        Figure::SealMany { .. } | Figure::OpenMany { .. } => {
            let case = case_of(figure, figures)?;
            let row = time(&case)?;
            let total = time_text(row).say(" total");
            Some(match compared_with_one(&case, subject, figures) {
                Some(words) => total.line_break().say(words),
                None => total,
            })
        }
    }
}

/// What a message costs among others, against one alone: the seed's "degradation".
fn compared_with_one(many: &Case, subject: &str, figures: &Figures<'_>) -> Option<String> {
    let mut one = many.clone();
    one.case = many.case.trim_end_matches("_many").into();
    let count = real(one.params.remove("count")?);
    let (many, one) = (figures.time(many, subject)?, figures.time(&one, subject)?);
    let share = many.median / count / one.median;
    share.is_finite().then(|| format!("each {} of one alone", words::percent(share)))
}

/// The average time for each member over the sizes of the seed.
fn average_each(subject: &str, figures: &Figures<'_>) -> Option<f64> {
    let mut sum = 0.0;
    for members in SCALED {
        sum += figures.time(&seal(members, 1024), subject)?.median / real(members);
    }
    let average = sum / real(SCALED.len() as u64);
    (average > 0.0).then_some(average)
}

fn factor(figure: Figure, figures: &Figures<'_>) -> Text {
    let sizes = |members: u64| {
        let (ours, theirs) = (figures.size(members, 1024, OURS), figures.size(members, 1024, SEED));
        (ours, theirs)
    };
    let smaller = |pair: (Option<f64>, Option<f64>)| match pair {
        (Some(ours), Some(theirs)) if ours > 0.0 => {
            let text = words::factor(theirs / ours, None) + " smaller";
            match figures.difference(OURS, SEED) {
                Some(_) => Text::new().emphasis(text),
                None => text.into(),
            }
        }
        _ => "–".into(),
    };
    match figure {
        Figure::Size { members } | Figure::Bandwidth { members } => smaller(sizes(members)),
        Figure::SizeEach { members } | Figure::SizeKeys { members } => {
            let (ours, theirs) = sizes(members);
            smaller((ours.map(|b| b - 1024.0), theirs.map(|b| b - 1024.0)))
        }
        Figure::Heap { members } => {
            let heap = |subject| figures.row(&seal(members, 1024), subject, "heap-peak");
            smaller((heap(OURS).map(|row| row.median), heap(SEED).map(|row| row.median)))
        }
        Figure::ScalingAverage => {
            match (average_each(OURS, figures), average_each(SEED, figures)) {
                (Some(ours), Some(theirs)) => {
                    Text::new().emphasis(format!("≈ {}", words::factor(theirs / ours, None)))
                }
                _ => "–".into(),
            }
        }
        _ => match case_of(figure, figures) {
            Some(case) => figures.factor_text(&case, OURS, SEED),
            None => "–".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Extent, Suite};

    /// The cases whose figures a row needs.
    fn needed(figure: Figure) -> Vec<(&'static str, u64, u64, Option<u64>)> {
        match figure {
            Figure::Seal { members, bytes } => vec![("seal", members, bytes, None)],
            Figure::Open { members, bytes } => vec![("open", members, bytes, None)],
            Figure::SealRange { from, to } => {
                vec![("seal", from, 1024, None), ("seal", to, 1024, None)]
            }
            Figure::SealEach { members }
            | Figure::Scaling { members }
            | Figure::Size { members }
            | Figure::SizeEach { members }
            | Figure::SizeKeys { members }
            | Figure::Bandwidth { members }
            | Figure::Heap { members } => vec![("seal", members, 1024, None)],
            Figure::ScalingAverage => SCALED.map(|members| ("seal", members, 1024, None)).to_vec(),
            // And what each of them is compared with.
            Figure::SealMany { count } => {
                vec![("seal_many", 25, 1024, Some(count)), ("seal", 25, 1024, None)]
            }
            Figure::OpenMany { count } => {
                vec![("open_many", 10, 1024, Some(count)), ("open", 10, 1024, None)]
            }
            Figure::Step => Vec::new(),
        }
    }

    #[test]
    fn every_extent_fills_every_row() {
        for extent in [Extent::Quick, Extent::Default, Extent::Full] {
            let cases = Suite::find("envelope").unwrap().cases(extent);
            for row in ENVELOPE.iter().flat_map(|table| table.rows) {
                for (name, members, bytes, count) in needed(row.figure) {
                    let found = cases.iter().any(|case| {
                        case.case == name
                            && case.params.get(MEMBERS) == Some(&members)
                            && case.params.get("bytes") == Some(&bytes)
                            && case.params.get("count").copied() == count
                    });
                    assert!(found, "{extent:?}: {name} of {members}, {bytes} B for {}", row.name);
                }
            }
        }
    }
}

//! Builds tables from their specification: every cell is computed from the specifications of its
//! row and column.

use super::case::Case;
use super::content::{Column, Field, Row, Show, TableSpec};
use super::document::{Document, Table, Text};
use super::expression::Expression;
use super::figures::{Figures, OURS, is_floor, is_ours, is_seed};
use super::markup;
use super::value::{Scope, Value};
use crate::record::Better;
use crate::words;

/// Writes a table of a suite; returns false if nothing of it was measured.
pub(crate) fn write(
    document: &mut Document,
    figures: &Figures<'_>,
    suite: &str,
    spec: &TableSpec,
) -> bool {
    let Some(table) = build(figures, suite, spec) else { return false };
    document.table(table);
    markup::paragraphs(document, &spec.text);
    true
}

fn build(figures: &Figures<'_>, suite: &str, spec: &TableSpec) -> Option<Table> {
    let mut table = Table::new(&spec.title, &[]);
    table.notes = spec.notes.iter().map(|note| markup::text(note)).collect();
    let published = spec.columns.iter().any(|column| column.show == Show::Field);
    let base = Scope {
        suite: suite.to_owned(),
        case: spec.case.clone(),
        params: spec.params.0.clone(),
        ..Scope::default()
    };
    let mut lines: Vec<Line> = Vec::new();
    let mut group = base.clone();
    if spec.by_subject && spec.rows.is_empty() {
        lines.extend(of_subjects(figures, spec, &base));
    }
    for row in &spec.rows {
        if let Some(title) = &row.group {
            group = within(&base, row);
            lines.push(Line::Group(title.clone()));
            if spec.by_subject {
                lines.extend(of_subjects(figures, spec, &group));
            }
            continue;
        }
        let scope = within(&group, row);
        let cells: Vec<Option<Text>> =
            spec.columns.iter().map(|column| cell(figures, column, row, &scope)).collect();
        let why = spec.columns.iter().map(|column| absent(figures, column, row, &scope)).collect();
        let said =
            spec.columns.iter().any(|it| it.show == Show::Field && row.fields.contains_key(&it.of));
        if said || cells.iter().any(Option::is_some) {
            let name = markup::text(&row.name);
            let name = if row.note > 0 { name.note(row.note) } else { name };
            lines.push(Line::Cells(name, cells, why));
        }
    }
    drop_empty_groups(&mut lines);
    // A row with published figures also needs a measured one, if any column shows measured figures.
    let of_text = spec.columns.iter().all(|column| column.show == Show::Field);
    let measured = |line: &Line| match line {
        Line::Group(_) => false,
        Line::Cells(_, cells, _) => cells
            .iter()
            .zip(&spec.columns)
            .any(|(cell, column)| cell.is_some() && (of_text || column.show != Show::Field)),
    };
    if !lines.iter().any(measured) {
        return None;
    }
    // A column without any figure is left out, unless published figures are beside it.
    let kept: Vec<bool> = (0..spec.columns.len())
        .map(|i| {
            let filled =
                |line: &Line| matches!(line, Line::Cells(_, cells, _) if cells[i].is_some());
            published || lines.iter().any(filled)
        })
        .collect();
    table.head.push(Text::from(&*spec.names));
    let heads = spec.columns.iter().zip(&kept).filter(|(_, kept)| **kept);
    table.head.extend(heads.map(|(column, _)| Text::from(&*column.head)));
    for line in lines {
        match line {
            Line::Group(title) => table.group(markup::text(&title)),
            Line::Cells(name, cells, why) => {
                let mut row = vec![name];
                let all = cells.into_iter().zip(why).zip(&spec.columns).zip(&kept);
                for (((cell, why), column), _) in all.filter(|(_, kept)| **kept) {
                    let measures = matches!(column.show, Show::Value | Show::Peer);
                    row.push(match (cell, why) {
                        (Some(text), _) => text,
                        (None, Some(why)) if measures => Text::absent(&why),
                        (None, _) if published && measures => Text::not_measured(),
                        (None, _) => "–".into(),
                    });
                }
                table.row(row);
            }
        }
    }
    Some(table)
}

enum Line {
    Group(String),
    /// Name and cells, and for each cell the reason why it can have no figure.
    Cells(Text, Vec<Option<Text>>, Vec<Option<String>>),
}

/// Removes headings without rows.
fn drop_empty_groups(lines: &mut Vec<Line>) {
    let mut i = 0;
    while i < lines.len() {
        let next_is_cells = matches!(lines.get(i + 1), Some(Line::Cells(..)));
        if matches!(lines[i], Line::Group(_)) && !next_is_cells {
            lines.remove(i);
        } else {
            i += 1;
        }
    }
}

/// Returns the scope of a row within that of its table or group.
pub(super) fn within(outer: &Scope, row: &Row) -> Scope {
    let mut scope = outer.clone();
    scope.subject = row.subject.clone().or(scope.subject);
    scope.case = row.case.clone().or(scope.case);
    scope.params.extend(row.params.0.clone());
    for (name, field) in &row.fields {
        if let Field::Number(number) = field {
            scope.numbers.insert(name.clone(), *number);
        }
    }
    scope
}

/// Returns a row for every subject that has a figure: ours first, then by the first figure.
fn of_subjects(figures: &Figures<'_>, spec: &TableSpec, scope: &Scope) -> Vec<Line> {
    let mut lines: Vec<((bool, bool, f64), Line)> = Vec::new();
    for subject in figures.subjects() {
        if !spec.subjects.is_empty() && !spec.subjects.iter().any(|it| it == subject) {
            continue;
        }
        let scope = Scope { subject: Some(subject.to_owned()), ..scope.clone() };
        let row = Row::default();
        let measured = |column: &&Column| column.show == Show::Value && column.subject.is_none();
        let values = spec.columns.iter().filter(measured);
        let first = values
            .filter_map(|column| value(figures, column, &row, &scope))
            .map(|value| value.number)
            .next();
        let Some(first) = first else { continue };
        let cells = spec.columns.iter().map(|column| cell(figures, column, &row, &scope)).collect();
        let order = (subject != OURS, !is_ours(subject), first);
        let why = vec![None; spec.columns.len()];
        lines.push((order, Line::Cells(Text::from(subject), cells, why)));
    }
    lines.sort_by(|(a, _), (b, _)| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)));
    lines.into_iter().map(|(_, line)| line).collect()
}

/// Returns the scope of a cell.
pub(super) fn at(column: &Column, scope: &Scope) -> Scope {
    let mut scope = scope.clone();
    scope.subject = column.subject.clone().or(scope.subject);
    scope.case = column.case.clone().or(scope.case);
    scope.params.extend(column.params.0.clone());
    scope
}

pub(super) fn value(
    figures: &Figures<'_>,
    column: &Column,
    row: &Row,
    scope: &Scope,
) -> Option<Value> {
    let expression = column.value.as_ref().or(row.value.as_ref())?;
    expression.value(&at(column, scope), figures)
}

/// Returns the reason why a cell can have no figure: that of the row, or that which the subject
/// reported for the case.
fn absent(figures: &Figures<'_>, column: &Column, row: &Row, scope: &Scope) -> Option<String> {
    let scope = at(column, scope);
    let subject = scope.subject.clone().unwrap_or_else(|| OURS.to_owned());
    row.absent.get(&subject).cloned().or_else(|| {
        let expression = column.value.as_ref().or(row.value.as_ref())?;
        let mut cases = expression.figures().into_iter().filter_map(|it| scope.case_of(it));
        cases.find_map(|case| figures.unsupported(&case, &subject))
    })
}

/// Returns the text of a cell; `None` if it has no figure.
fn cell(figures: &Figures<'_>, column: &Column, row: &Row, scope: &Scope) -> Option<Text> {
    let expression = column.value.as_ref().or(row.value.as_ref());
    let scope = at(column, scope);
    let subject = scope.subject.clone().unwrap_or_else(|| OURS.to_owned());
    match column.show {
        Show::Factor | Show::PeerFactor | Show::Share | Show::Within if row.plain => None,
        Show::Field => row.fields.get(&column.of).map(|field| match field {
            Field::Text(text) => markup::text(text),
            Field::Number(number) => words::digits(*number).into(),
        }),
        Show::Value => {
            let text =
                expression?.value(&scope, figures)?.written(row.format.unwrap_or(column.format));
            let text = if column.strong { Text::new().strong(text) } else { Text::from(text) };
            let below = column.below.as_ref().and_then(|below| below.value(&scope, figures));
            Some(match below {
                Some(below) => text.line_break().say(below.text()),
                None => text,
            })
        }
        Show::Factor => factor(figures, expression?, &scope, (&subject, &column.of)),
        Show::EndsealBeside if subject == OURS => None,
        Show::EndsealBeside => factor(figures, expression?, &scope, (OURS, &subject)),
        Show::Peer => {
            let (peer, value) = best_peer(figures, expression?, &scope, &row.without)?;
            Some(Text::from(&*peer).say(": ").say(value.text()))
        }
        Show::PeerFactor => {
            let (peer, _) = best_peer(figures, expression?, &scope, &row.without)?;
            factor(figures, expression?, &scope, (&subject, &peer))
        }
        Show::Within => {
            let bound = scope.numbers.get(&column.of)?;
            let value = expression?.value(&scope, figures)?;
            Some(if value.number <= *bound { "met" } else { "not met" }.into())
        }
        Show::Share => {
            let part = row.value.as_ref()?.value(&scope, figures)?;
            if part.below_noise {
                return Some(part.text().into());
            }
            let part = part.number;
            let whole = column.value.as_ref()?.value(&scope, figures)?.number;
            (whole > 0.0).then(|| words::percent(part / whole).into())
        }
    }
}

/// Returns the factor by which the first subject is better: the ratio of the times if the
/// expression is a time or a rate alone, otherwise the ratio of the values.
fn factor(
    figures: &Figures<'_>,
    expression: &Expression,
    scope: &Scope,
    (subject, other): (&str, &str),
) -> Option<Text> {
    let of = |subject: &str| Scope { subject: Some(subject.to_owned()), ..scope.clone() };
    let rates = ["time", "mb_s", "requests_s", "frames_s"];
    let alone = expression.figure().filter(|figure| rates.contains(&&*figure.metric));
    if let Some(figure) = alone.filter(|figure| figure.subject.is_none()) {
        let case = scope.case_of(figure)?;
        return figures
            .factor(&case, subject, other)
            .map(|_| figures.factor_text(&case, subject, other));
    }
    let ours = expression.value(&of(subject), figures)?;
    let theirs = expression.value(&of(other), figures)?;
    let ratio = match ours.better {
        Better::Less => theirs.number / ours.number,
        Better::More => ours.number / theirs.number,
    };
    if !ratio.is_finite() || ours.cpu != theirs.cpu {
        return None;
    }
    let text = match &*ours.unit {
        "B" if ratio < 1.0 => words::fine_factor(1.0 / ratio) + " larger",
        "B" => words::fine_factor(ratio) + " smaller",
        _ => format!("≈ {}", words::factor(ratio, None)),
    };
    let differs = expression
        .figures()
        .into_iter()
        .find_map(|figure| figures.difference_at(&scope.case_of(figure)?, subject, other));
    Some(if differs.is_some() { Text::new().emphasis(text) } else { text.into() })
}

/// Returns the subject with the best value that is neither ours, nor a published method, nor a
/// floor.
fn best_peer(
    figures: &Figures<'_>,
    expression: &Expression,
    scope: &Scope,
    without: &[String],
) -> Option<(String, Value)> {
    let mut best: Option<(String, Value)> = None;
    for peer in figures.subjects() {
        let other = without.iter().any(|name| name == peer);
        if other || is_ours(peer) || is_seed(peer) || is_floor(&scope.suite, peer) {
            continue;
        }
        let scope = Scope { subject: Some(peer.to_owned()), ..scope.clone() };
        let Some(value) = expression.value(&scope, figures) else { continue };
        let better = best.as_ref().is_none_or(|(_, best)| match value.better {
            Better::Less => value.number < best.number,
            Better::More => value.number > best.number,
        });
        if better {
            best = Some((words::tame(peer), value));
        }
    }
    best
}

/// Returns the case of a plain figure, for callers that look it up themselves.
pub(super) fn case_of(suite: &str, reference: &super::content::CaseRef) -> Case {
    Case {
        suite: suite.to_owned(),
        case: reference.case.clone(),
        params: reference.params.0.clone(),
    }
}

//! The report of a run: one HTML page.

pub(crate) mod case;
mod chart;
mod charts;
pub(crate) mod content;
mod document;
mod expression;
mod figures;
mod front;
mod goals;
mod growth;
mod html;
mod losses;
mod markup;
mod method;
mod peers;
mod readme;
mod resources;
mod svg;
mod table;
mod value;

use document::Document;
use figures::{Figures, Part};
pub use goals::Verdict;

use crate::record::Record;
use crate::stations::STATIONS;

/// Writes `report.html`: one file that has no scripts and makes no network requests.
#[must_use]
pub fn html(record: &Record) -> String {
    html::write(&document(record))
}

/// Writes the table of README.md from the committed run.
#[must_use]
pub fn readme(record: &Record) -> String {
    readme::write(&figures(record))
}

/// Returns all goals of the suites of a run, as `suite: goal`, with their verdicts.
#[must_use]
pub fn goals(record: &Record) -> Vec<(String, Verdict)> {
    let figures = figures(record);
    let parts = figures.parts();
    let all = parts.iter().flat_map(|part| {
        goals::judged(&figures, part)
            .into_iter()
            .map(|one| (format!("{}: {}", part.suite.name, one.goal.what), one.verdict))
    });
    all.collect()
}

fn figures(record: &Record) -> Figures<'_> {
    let part = |station: &'static crate::stations::Station| Part {
        suite: station.suite,
        content: &station.content,
    };
    Figures::new(record, STATIONS.iter().map(part).collect())
}

fn document(record: &Record) -> Document {
    let figures = figures(record);
    let mut document = Document {
        title: "endseal bench: what end-to-end encryption costs".into(),
        ..Document::default()
    };
    front::write(&mut document, &figures);
    goals::write(&mut document, &figures);
    for part in figures.parts() {
        for section in &part.content.sections {
            sections(&mut document, &figures, part, section);
        }
    }
    peers::write(&mut document, &figures);
    resources::write(&mut document, &figures);
    method::write(&mut document, &figures);
    document
}

fn sections(
    document: &mut Document,
    figures: &Figures<'_>,
    part: Part,
    section: &'static content::Section,
) {
    let suite = part.suite.name;
    document.section(&*section.title);
    markup::paragraphs(document, &section.text);
    document.list(section.list.iter().map(|item| markup::text(item)).collect());
    let mut empty = Vec::new();
    for table in &section.tables {
        if !table::write(document, figures, suite, table) {
            empty.extend((!table.title.is_empty()).then_some(&*table.title));
        }
    }
    if !empty.is_empty() {
        document.paragraph(format!("Not measured in this run: {}.", empty.join("; ")));
    }
    for bars in &section.bars {
        document.chart(charts::bars(figures, suite, bars));
    }
    for curves in &section.curves {
        document.chart(charts::curves(figures, suite, curves));
    }
    if section.growth {
        growth::write(document, figures, part.suite);
    }
    markup::paragraphs(document, &section.after);
}

#[cfg(test)]
mod tests {
    use super::content::{Column, Row, Show, TableSpec};
    use super::expression::Expression;
    use super::figures::Part;
    use super::value::Scope;
    use super::*;
    use crate::suite::Extent;

    fn parts() -> Vec<Part> {
        let part =
            |it: &'static crate::stations::Station| Part { suite: it.suite, content: &it.content };
        STATIONS.iter().map(part).collect()
    }

    /// Collects figures of an expression whose case the suite does not have.
    fn has_cases(
        part: &Part,
        expression: &Expression,
        scope: &Scope,
        place: &str,
        faults: &mut Vec<String>,
    ) {
        let cases = part.suite.cases(Extent::Full);
        for figure in expression.figures() {
            let Some(case) = scope.case_of(figure) else {
                faults.push(format!("{place}: a figure without case"));
                continue;
            };
            if !cases.iter().any(|it| it.case == case.case && it.params == case.params) {
                faults.push(format!("{place}: the suite has no case {}", case.describe()));
            }
        }
    }

    fn check_table(part: &Part, table: &TableSpec, faults: &mut Vec<String>) {
        let base = Scope {
            suite: part.suite.name.into(),
            case: table.case.clone(),
            params: table.params.0.clone(),
            ..Scope::default()
        };
        let mut check = |row: &Row, scope: &Scope| {
            for column in &table.columns {
                let needs = ![Show::Field].contains(&column.show);
                let expression = column.value.as_ref().or(row.value.as_ref());
                if let Some(expression) = expression.filter(|_| needs) {
                    let place = format!("{}: {}: {}", table.title, row.name, column.head);
                    has_cases(part, expression, &table::at(column, scope), &place, faults);
                }
            }
        };
        if table.by_subject && table.rows.is_empty() {
            check(&Row::default(), &base);
        }
        let mut group = base.clone();
        for row in &table.rows {
            if row.group.is_some() {
                group = table::within(&base, row);
                if table.by_subject {
                    check(row, &group);
                }
            } else {
                check(row, &table::within(&group, row));
            }
            let number = |column: &Column| {
                column.show == Show::Within && row.fields.contains_key(&column.of)
            };
            assert!(row.note <= table.notes.len(), "{}: {}", table.title, row.name);
            let fields = table.columns.iter().any(|it| it.show == Show::Field || number(it));
            assert!(
                fields || row.fields.keys().all(|name| is_used(table, row, name)),
                "{}",
                row.name
            );
        }
    }

    /// Returns true if an expression of the row or table uses the number. A misspelt key would
    /// otherwise go unnoticed.
    fn is_used(table: &TableSpec, row: &Row, name: &str) -> bool {
        let text = format!("{:?} {:?}", table.columns, row.value);
        text.contains(&format!("{name:?}"))
    }

    #[test]
    fn every_figure_of_the_data_is_a_case_of_its_suite() {
        let mut faults = Vec::new();
        for part in parts() {
            let scope = Scope { suite: part.suite.name.into(), ..Scope::default() };
            for goal in &part.content.goals {
                has_cases(&part, &goal.value, &scope, &goal.what, &mut faults);
                assert!(goal.at_least.is_some() != goal.at_most.is_some(), "{}", goal.what);
            }
            check_table(&part, &part.content.headlines, &mut faults);
            for section in &part.content.sections {
                for table in &section.tables {
                    check_table(&part, table, &mut faults);
                }
                for bars in &section.bars {
                    for row in &bars.groups {
                        let scope = table::within(&scope, row);
                        let values = bars
                            .bars
                            .iter()
                            .filter_map(|it| it.value.as_ref().or(row.value.as_ref()));
                        for value in values.chain(&bars.by_subject) {
                            has_cases(&part, value, &scope, &bars.title, &mut faults);
                        }
                    }
                }
            }
            let cases = part.suite.cases(Extent::Full);
            for main in &part.content.main {
                let found =
                    cases.iter().any(|it| it.case == main.case && it.params == main.params.0);
                assert!(found, "{}", main.case);
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn every_clause_of_a_summary_can_be_filled_or_left_out() {
        let record = Record::default();
        let figures = figures(&record);
        for part in parts() {
            for clause in &part.content.summary {
                let mut rest = clause.as_str();
                while let Some((_, after)) = rest.split_once('{') {
                    let (inner, after) = after.split_once('}').unwrap();
                    let expression = inner.split('|').next().unwrap().to_owned();
                    assert!(Expression::try_from(expression).is_ok(), "{inner}");
                    rest = after;
                }
                let scope = Scope { suite: part.suite.name.into(), ..Scope::default() };
                assert!(
                    !clause.contains('{') || markup::filled(clause, &scope, &figures).is_none()
                );
            }
        }
    }
}

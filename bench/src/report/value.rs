//! The value of an expression: a number with its unit.

use std::collections::BTreeMap;

use super::case::Case;
use super::content::Format;
use super::expression::{Expression, Figure, Operator};
use super::figures::{Figures, OURS};
use crate::case::Params;
use crate::record::Better;
use crate::words;

/// Where an expression stands: what its figures leave out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) suite: String,
    pub(crate) subject: Option<String>,
    pub(crate) case: Option<String>,
    pub(crate) params: Params,
    pub(crate) numbers: BTreeMap<String, f64>,
}

/// A number with its unit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) number: f64,
    pub(crate) ci95: Option<[f64; 2]>,
    /// As in the record; `×` for a ratio, empty for a bare number.
    pub(crate) unit: String,
    pub(crate) better: Better,
    /// True if it is CPU time in the place of time that passed.
    pub(crate) cpu: bool,
    pub(crate) threads: Option<usize>,
}

impl Value {
    fn bare(number: f64) -> Self {
        let (ci95, unit, better) = (None, String::new(), Better::Less);
        Self { number, ci95, unit, better, cpu: false, threads: None }
    }

    /// The value as people read it.
    pub(crate) fn text(&self) -> String {
        let text = match &*self.unit {
            "×" => words::factor(self.number, None),
            unit => words::value(self.number, unit).trim_end().to_owned(),
        };
        let text = if self.cpu { text + " CPU" } else { text };
        match self.threads {
            Some(threads) => format!("{text} on {}", words::plural(threads, "thread")),
            None => text,
        }
    }
}

impl Value {
    /// The value in a format of the data files.
    pub(crate) fn written(&self, format: Format) -> String {
        let number = self.number;
        match format {
            Format::Unit => self.text(),
            Format::Interval if self.unit == "ns" && !self.cpu => {
                words::time_within(number, self.ci95)
            }
            Format::Interval => self.text(),
            Format::Percent => words::percent(number),
            Format::Fine => words::fine_factor(number),
            Format::Digits => words::digits(number),
            Format::Count => words::count(number),
            Format::Milliseconds => format!("{} ms", words::fixed_milliseconds(number)),
            Format::KilobytesASecond => format!("{:.1} KB/s", number / 1024.0),
        }
    }
}

impl Scope {
    pub(crate) fn case_of(&self, figure: &Figure) -> Option<Case> {
        let case = figure.case.clone().or_else(|| self.case.clone())?;
        let mut params = self.params.clone();
        params.extend(figure.params.0.clone());
        Some(Case { suite: self.suite.clone(), case, params })
    }

    pub(crate) fn subject_of<'a>(&'a self, figure: &'a Figure) -> &'a str {
        figure.subject.as_deref().or(self.subject.as_deref()).unwrap_or(OURS)
    }
}

impl Expression {
    /// Its value; `None` if a figure in it was not measured.
    pub(crate) fn value(&self, scope: &Scope, figures: &Figures<'_>) -> Option<Value> {
        match self {
            Self::Number(number) => Some(Value::bare(*number)),
            Self::Bytes(number) => Some(Value { unit: "B".into(), ..Value::bare(*number) }),
            Self::Variable(name) => {
                let unit = match name.rsplit_once('_') {
                    Some((_, "ns")) => "ns",
                    Some((_, "bytes")) => "B",
                    _ => "",
                };
                let number = scope.numbers.get(name).copied()?;
                Some(Value { unit: unit.into(), ..Value::bare(number) })
            }
            Self::Figure(figure) => measured(figure, scope, figures),
            Self::Binary(left, operator, right) => {
                combined(left.value(scope, figures), *operator, right.value(scope, figures))
            }
        }
    }
}

fn measured(figure: &Figure, scope: &Scope, figures: &Figures<'_>) -> Option<Value> {
    let case = scope.case_of(figure)?;
    let subject = scope.subject_of(figure);
    if let Some(than) = &figure.than {
        let factor = figures.factor(&case, subject, than)?;
        let better = Better::More;
        let unit = "×".into();
        let (number, ci95) = (factor.median, factor.ci95);
        return Some(Value { number, ci95, unit, better, cpu: false, threads: None });
    }
    let row = match &*figure.metric {
        "time" => figures.time(&case, subject)?,
        metric => figures.row(&case, subject, metric)?,
    };
    Some(Value {
        number: row.median,
        ci95: row.ci95,
        unit: row.unit.clone(),
        better: row.better,
        cpu: figure.metric == "time" && row.metric == "cpu",
        threads: row.threads,
    })
}

fn combined(left: Option<Value>, operator: Operator, right: Option<Value>) -> Option<Value> {
    if operator == Operator::Or {
        return left.or(right);
    }
    let (left, right) = (left?, right?);
    // Times by different clocks do not mix.
    if left.cpu != right.cpu && left.unit == right.unit {
        return None;
    }
    let (a, b) = (left.number, right.number);
    let unit = match operator {
        Operator::Divide if left.unit == right.unit => "×".into(),
        Operator::Divide if right.unit.is_empty() => left.unit.clone(),
        Operator::Divide => format!("{}/{}", left.unit, right.unit),
        _ if left.unit.is_empty() => right.unit.clone(),
        _ => left.unit.clone(),
    };
    let number = match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::Max => a.max(b),
        Operator::Min => a.min(b),
        Operator::Or => a,
    };
    number.is_finite().then_some(Value {
        ci95: None,
        unit,
        number,
        cpu: left.cpu || right.cpu,
        threads: None,
        ..left
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Record, Row};

    fn record() -> Record {
        let row = |subject: &str, members: u64, median: f64| Row {
            suite: "envelope".into(),
            case: "seal".into(),
            params: [("members".to_owned(), members)].into(),
            subject: subject.into(),
            metric: "time".into(),
            unit: "ns".into(),
            median,
            n: 9,
            ..Row::default()
        };
        let rows = vec![row("endseal", 1, 10.0), row("endseal", 2, 14.0), row("age", 1, 50.0)];
        Record { rows, ..Record::default() }
    }

    fn found(text: &str) -> Option<(f64, String)> {
        let record = record();
        let figures = Figures::new(&record, Vec::new());
        let numbers = [("size".to_owned(), 4.0)].into();
        let params = [("members".to_owned(), 1)].into();
        let (suite, case) = ("envelope".into(), Some("seal".into()));
        let scope = Scope { suite, case, params, numbers, subject: None };
        Expression::try_from(text.to_owned())
            .unwrap()
            .value(&scope, &figures)
            .map(|value| (value.number, value.unit))
    }

    #[test]
    fn figures_take_from_their_scope_what_they_leave_out() {
        let ns = |number: f64| Some((number, "ns".to_owned()));
        assert_eq!(found(".time"), ns(10.0));
        assert_eq!(found("[members=2].time"), ns(14.0));
        assert_eq!(found("age:seal.time - .time"), ns(40.0));
        assert_eq!(found("age:.time / .time"), Some((5.0, "×".into())));
        assert_eq!(found(".time / $size"), ns(2.5));
        assert_eq!(found("( [members=2].time - .time ) * 2 + .time"), ns(18.0));
        assert_eq!(found(".than(age)"), Some((5.0, "×".into())));
        assert_eq!(found("age:[members=2].time max .time"), None);
        assert_eq!(found("age:[members=2].time or .time"), ns(10.0));
        assert_eq!(found(".time max [members=2].time"), ns(14.0));
        assert_eq!(found("10B / 5B"), Some((2.0, "×".into())));
        assert_eq!(found("age:[members=2].time + .time"), None);
        assert_eq!(found("$unknown"), None);
    }
}

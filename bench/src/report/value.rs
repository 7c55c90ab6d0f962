//! Evaluates expressions: a value is a number with its unit.

use std::collections::BTreeMap;

use super::case::Case;
use super::content::Format;
use super::expression::{Expression, Figure, Operator};
use super::figures::{Figures, OURS};
use crate::case::Params;
use crate::record::Better;
use crate::words;

/// Share of the median: if the quartiles are further apart, they are printed.
const APART: f64 = 0.25;

/// Defaults of the figures of an expression: suite, subject, case and metric.
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
    /// Quartiles of the samples, if they are so far apart that the median alone misleads.
    pub(crate) quartiles: Option<[f64; 2]>,
    /// True for a difference of two times that is negative or whose interval includes zero.
    pub(crate) below_noise: bool,
    /// Unit as in the record; `×` for a ratio, empty for a plain number.
    pub(crate) unit: String,
    pub(crate) better: Better,
    /// True for CPU time that is shown because there is no wall-clock time.
    pub(crate) cpu: bool,
    pub(crate) threads: Option<usize>,
}

impl Value {
    fn bare(number: f64) -> Self {
        let (unit, better) = (String::new(), Better::Less);
        Self {
            number,
            ci95: None,
            quartiles: None,
            below_noise: false,
            unit,
            better,
            cpu: false,
            threads: None,
        }
    }

    /// Formats the value for people.
    pub(crate) fn text(&self) -> String {
        if self.below_noise {
            return "below the noise".into();
        }
        let text = match &*self.unit {
            "×" => words::factor(self.number, None),
            unit => words::value(self.number, unit).trim_end().to_owned(),
        };
        let text = match self.quartiles {
            Some(quartiles) => format!("{text} {}", self.spread(quartiles)),
            None => text,
        };
        let text = if self.cpu { text + " CPU" } else { text };
        match self.threads {
            Some(threads) => format!("{text} on {}", words::plural(threads, "thread")),
            None => text,
        }
    }
}

impl Value {
    /// Formats the two quartiles in the unit of the value, in brackets.
    fn spread(&self, quartiles: [f64; 2]) -> String {
        let [low, high] = quartiles.map(|it| words::value(it, &self.unit).trim_end().to_owned());
        format!("(quartiles {low} to {high})")
    }

    /// Formats the value in a format of the data files.
    pub(crate) fn written(&self, format: Format) -> String {
        let number = self.number;
        if self.below_noise {
            return self.text();
        }
        match format {
            Format::Unit => self.text(),
            Format::Interval if self.unit == "ns" && !self.cpu && self.quartiles.is_none() => {
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
    /// Evaluates the expression; `None` if a figure in it was not measured.
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
            // A figure divided by itself compares nothing, so it has no value.
            Self::Binary(left, Operator::Divide, right) if is_same(left, right, scope) => None,
            Self::Binary(left, operator, right) => {
                combined(left.value(scope, figures), *operator, right.value(scope, figures))
            }
        }
    }
}

/// Returns true if both expressions are the same figure of the same subject.
fn is_same(left: &Expression, right: &Expression, scope: &Scope) -> bool {
    let key = |expression: &Expression| {
        let figure = expression.figure()?;
        let subject = scope.subject_of(figure).to_owned();
        Some((scope.case_of(figure)?, subject, figure.metric.clone(), figure.than.clone()))
    };
    key(left).is_some_and(|left| key(right) == Some(left))
}

fn measured(figure: &Figure, scope: &Scope, figures: &Figures<'_>) -> Option<Value> {
    let case = scope.case_of(figure)?;
    let subject = scope.subject_of(figure);
    if let Some(than) = &figure.than {
        let factor = figures.factor(&case, subject, than)?;
        let better = Better::More;
        let unit = "×".into();
        let (number, ci95) = (factor.median, factor.ci95);
        return Some(Value { ci95, unit, better, ..Value::bare(number) });
    }
    let row = match &*figure.metric {
        "time" => figures.time(&case, subject)?,
        metric => figures.row(&case, subject, metric)?,
    };
    Some(Value {
        number: row.median,
        ci95: row.ci95,
        quartiles: quartiles(&row.samples).filter(|[low, high]| high - low > APART * row.median),
        below_noise: false,
        unit: row.unit.clone(),
        better: row.better,
        cpu: figure.metric == "time" && row.metric == "cpu",
        threads: row.threads,
    })
}

/// Returns the lower and the upper quartile of samples; `None` for fewer than four.
fn quartiles(samples: &[f64]) -> Option<[f64; 2]> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quarter = sorted.len() / 4;
    let upper = sorted.len().checked_sub(quarter + 1)?;
    (quarter > 0).then(|| [sorted[quarter], sorted[upper]])
}

fn combined(left: Option<Value>, operator: Operator, right: Option<Value>) -> Option<Value> {
    if operator == Operator::Or {
        return left.or(right);
    }
    let (left, right) = (left?, right?);
    // Times by different clocks must not be combined.
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
    // The difference may be zero if the two intervals overlap; sizes and counts have none.
    let reaches_zero = match (left.ci95, right.ci95) {
        (Some([low, _]), Some([_, high])) => low <= high,
        _ => false,
    };
    let below_noise = match operator {
        Operator::Subtract if unit == "ns" => number < 0.0 || reaches_zero,
        _ => left.below_noise || right.below_noise,
    };
    number.is_finite().then_some(Value {
        ci95: None,
        quartiles: None,
        below_noise,
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
        assert_eq!(found("1 - ( endseal:.time / .time )"), None, "a figure beside itself");
    }

    fn value(text: &str, record: &Record) -> Value {
        let figures = Figures::new(record, Vec::new());
        let params = [("members".to_owned(), 1)].into();
        let (suite, case) = ("envelope".into(), Some("seal".into()));
        let scope = Scope { suite, case, params, ..Scope::default() };
        Expression::try_from(text.to_owned()).unwrap().value(&scope, &figures).unwrap()
    }

    #[test]
    fn a_rate_is_printed_by_the_second() {
        let record = record();
        assert_eq!(value("50B / .time", &record).text(), "5.00 GB/s");
        assert_eq!(value("1 / .time", &record).text(), "100,000,000 a second");
    }

    #[test]
    fn a_difference_within_the_intervals_is_no_cost() {
        let mut record = record();
        record.rows[0].ci95 = Some([9.0, 12.0]);
        record.rows[1].ci95 = Some([11.0, 15.0]);
        assert_eq!(value("[members=2].time - .time", &record).text(), "below the noise");
        assert_eq!(value("( [members=2].time - .time ) / 2", &record).text(), "below the noise");
        record.rows[1].ci95 = Some([13.0, 15.0]);
        assert_eq!(value("[members=2].time - .time", &record).text(), "4.00 ns");
        assert_eq!(value(".time - [members=2].time", &record).text(), "below the noise");
    }

    #[test]
    fn quartiles_that_are_far_apart_stand_beside_the_median() {
        let mut record = record();
        record.rows[0].samples = vec![7.0, 7.1, 7.2, 10.0, 10.0, 12.8, 12.9, 13.0];
        let text = "10.0 ns (quartiles 7.20 ns to 12.8 ns)";
        assert_eq!(value(".time", &record).text(), text);
        assert_eq!(value(".time", &record).written(Format::Interval), text);
        record.rows[0].samples = vec![9.5, 9.8, 9.9, 10.0, 10.0, 10.4, 10.9, 11.0];
        assert_eq!(value(".time", &record).text(), "10.0 ns");
    }
}

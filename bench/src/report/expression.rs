//! Expressions over the figures of a record, as the files in `data/` write them.
//!
//! `endseal:seal[members=100 bytes=1K].time / 2` divides a median by two. A figure is
//! `subject:case[parameters].metric`; what it omits is taken from the row and column of the
//! expression. `.than(other)` in the position of a metric is the paired ratio: how many times
//! faster the subject is than the other. `$name` is a number of the row, in bytes or ns if the name
//! ends in `_bytes` or `_ns`, and `8192B` is a number of bytes. Operators are `+ - * / max min or`
//! between spaces, all of one precedence, from left to right; parentheses group.

use core::fmt;

use serde::Deserialize;

use crate::case::Params;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum Expression {
    Number(f64),
    /// A number of bytes, such as `8192B`.
    Bytes(f64),
    /// A number of the row, by its name.
    Variable(String),
    Figure(Figure),
    Binary(Box<Self>, Operator, Box<Self>),
}

/// Operator between two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// Returns the larger value.
    Max,
    /// Returns the smaller value.
    Min,
    /// Returns the first value, or the second one if the first was not measured.
    Or,
}

/// A reference to a figure of the record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figure {
    pub(crate) subject: Option<String>,
    pub(crate) case: Option<String>,
    pub(crate) params: ParamList,
    pub(crate) metric: String,
    /// The other subject of a paired ratio, whose time is divided by this subject's.
    pub(crate) than: Option<String>,
}

/// Parameters such as `members=100 bytes=1K`; K, M and G are powers of 1,024.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct ParamList(pub(crate) Params);

/// Error for an expression that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError(String);

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not an expression: {}", self.0)
    }
}

impl core::error::Error for SyntaxError {}

impl TryFrom<String> for ParamList {
    type Error = SyntaxError;

    fn try_from(text: String) -> Result<Self, SyntaxError> {
        let mut params = Params::new();
        for pair in text.split_whitespace() {
            let (name, value) = pair.split_once('=').ok_or_else(|| SyntaxError(text.clone()))?;
            let digits = value.trim_end_matches(['K', 'M', 'G']);
            let shift = match &value[digits.len()..] {
                "" => 0,
                "K" => 10,
                "M" => 20,
                "G" => 30,
                _ => return Err(SyntaxError(text.clone())),
            };
            let number: u64 = digits.parse().map_err(|_| SyntaxError(text.clone()))?;
            params.insert(name.to_owned(), number << shift);
        }
        Ok(Self(params))
    }
}

impl TryFrom<String> for Expression {
    type Error = SyntaxError;

    fn try_from(text: String) -> Result<Self, SyntaxError> {
        let tokens = tokens(&text);
        let mut rest = &tokens[..];
        let parsed = chain(&mut rest).filter(|_| rest.is_empty());
        parsed.ok_or(SyntaxError(text))
    }
}

/// Splits the text at spaces and parentheses. Brackets and the parentheses of `.than(…)` stay with
/// their figure.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = vec![String::new()];
    let (mut brackets, mut call) = (false, false);
    for c in text.chars() {
        let Some(last) = tokens.last_mut() else { break };
        match c {
            '[' => brackets = true,
            ']' => brackets = false,
            _ => {}
        }
        if c == '(' && last.ends_with(".than") {
            call = true;
            last.push(c);
        } else if c == ')' && call {
            call = false;
            last.push(c);
        } else if brackets || !(c == ' ' || c == '(' || c == ')') {
            last.push(c);
        } else {
            tokens.extend((c != ' ').then(|| c.to_string()));
            tokens.push(String::new());
        }
    }
    tokens.retain(|token| !token.is_empty());
    tokens
}

fn chain(rest: &mut &[String]) -> Option<Expression> {
    let mut left = operand(rest)?;
    while let Some(operator) = rest.first().and_then(|token| operator(token)) {
        *rest = &rest[1..];
        left = Expression::Binary(Box::new(left), operator, Box::new(operand(rest)?));
    }
    Some(left)
}

fn operator(token: &str) -> Option<Operator> {
    Some(match token {
        "+" => Operator::Add,
        "-" => Operator::Subtract,
        "*" => Operator::Multiply,
        "/" => Operator::Divide,
        "max" => Operator::Max,
        "min" => Operator::Min,
        "or" => Operator::Or,
        _ => return None,
    })
}

fn operand(rest: &mut &[String]) -> Option<Expression> {
    let (first, more) = rest.split_first()?;
    *rest = more;
    if first == "(" {
        let inner = chain(rest)?;
        let (closing, more) = rest.split_first()?;
        *rest = more;
        return (closing == ")").then_some(inner);
    }
    if let Some(name) = first.strip_prefix('$') {
        return Some(Expression::Variable(name.to_owned()));
    }
    if let Ok(number) = first.parse() {
        return Some(Expression::Number(number));
    }
    if let Some(Ok(bytes)) = first.strip_suffix('B').map(str::parse) {
        return Some(Expression::Bytes(bytes));
    }
    figure(first).map(Expression::Figure)
}

fn figure(token: &str) -> Option<Figure> {
    let (head, than) = match token.strip_suffix(')') {
        Some(open) => {
            let (head, other) = open.split_once(".than(")?;
            (head, Some(other.to_owned()))
        }
        None => (token, None),
    };
    let (head, metric) = match than {
        Some(_) => (head, "time"),
        None => head.rsplit_once('.')?,
    };
    let (head, params) = match head.strip_suffix(']') {
        Some(open) => open.split_once('[')?,
        None => (head, ""),
    };
    let (subject, case) = match head.split_once(':') {
        Some((subject, case)) => (Some(subject.to_owned()), case),
        None => (None, head),
    };
    let word = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    let case = (!case.is_empty()).then(|| case.to_owned());
    let words = [subject.as_deref(), case.as_deref(), Some(metric), than.as_deref()];
    if metric.is_empty() || !words.into_iter().flatten().all(word) {
        return None;
    }
    let params = ParamList::try_from(params.to_owned()).ok()?;
    Some(Figure { subject, case, params, metric: metric.to_owned(), than })
}

impl Expression {
    /// Returns the figure if the expression is a single figure.
    pub(crate) fn figure(&self) -> Option<&Figure> {
        if let Self::Figure(figure) = self { Some(figure) } else { None }
    }

    /// Returns all figures of the expression.
    pub(crate) fn figures(&self) -> Vec<&Figure> {
        match self {
            Self::Figure(figure) => vec![figure],
            Self::Binary(left, _, right) => [left.figures(), right.figures()].concat(),
            Self::Number(_) | Self::Bytes(_) | Self::Variable(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_expression_is_refused() {
        for text in
            ["", "seal", "1 +", "( .time", ".time )", "a b", "[members].time", "x[a=1Q].time", "."]
        {
            assert!(Expression::try_from(text.to_owned()).is_err(), "{text}");
        }
        assert_eq!(ParamList::try_from("bytes=8K".to_owned()).unwrap().0["bytes"], 8192);
    }
}

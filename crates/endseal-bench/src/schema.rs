//! Reading a `run.json`: bounded, checked against `schema/run.v1.json`, then a [`Record`].

use core::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;

use crate::record::{Record, SCHEMA};

/// The schema of what this version writes, JSON Schema 2020-12.
pub const RUN_SCHEMA: &str = include_str!("../schema/run.v1.json");

/// Longest `run.json` that is read: a full run has a few megabytes, and all of it is held in memory.
pub const MAX_RECORD: usize = 64 << 20;

/// Why a `run.json` was not read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadRecordError {
    /// The file cannot be read.
    Unreadable(io::Error),
    /// It is longer than [`MAX_RECORD`].
    TooLong,
    /// It is not JSON; a run that ended in the middle of writing would look so.
    NotJson(String),
    /// A newer version wrote it, in this schema.
    Newer(String),
    /// It is JSON, but no record.
    Invalid(Violation),
}

impl fmt::Display for ReadRecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "cannot be read: {error}"),
            Self::TooLong => write!(f, "longer than {} MiB", MAX_RECORD >> 20),
            Self::NotJson(why) => write!(f, "not JSON: {why}"),
            Self::Newer(schema) => {
                write!(
                    f,
                    "written by a newer version: schema {schema}, and this one reads {SCHEMA}"
                )
            }
            Self::Invalid(violation) => write!(f, "not a record of {SCHEMA}: {violation}"),
        }
    }
}

impl core::error::Error for ReadRecordError {}

/// The first place where a document differs from its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// Where, as a JSON pointer; empty for the whole document.
    pub path: String,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "/" } else { &self.path };
        write!(f, "{path}: {}", self.what)
    }
}

/// Reads a record from a file.
///
/// # Errors
/// [`ReadRecordError`].
pub fn read_record_file(path: &Path) -> Result<Record, ReadRecordError> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_RECORD as u64 + 1).read_to_end(&mut bytes))
        .map_err(ReadRecordError::Unreadable)?;
    read_record(&bytes)
}

/// Reads a record.
///
/// # Errors
/// [`ReadRecordError`].
pub fn read_record(bytes: &[u8]) -> Result<Record, ReadRecordError> {
    if bytes.len() > MAX_RECORD {
        return Err(ReadRecordError::TooLong);
    }
    let document: Value = serde_json::from_slice(bytes)
        .map_err(|error| ReadRecordError::NotJson(error.to_string()))?;
    if let Some(schema) = newer(&document) {
        return Err(ReadRecordError::Newer(schema));
    }
    validate_run(&document).map_err(ReadRecordError::Invalid)?;
    serde_json::from_value(document).map_err(|error| {
        ReadRecordError::Invalid(Violation { path: String::new(), what: error.to_string() })
    })
}

/// The schema that a document names, if its number is above ours.
fn newer(document: &Value) -> Option<String> {
    let schema = document.get("schema")?.as_str()?;
    let (family, ours) = SCHEMA.split_once('/')?;
    let theirs = schema.strip_prefix(family)?.strip_prefix('/')?;
    let digits = !theirs.is_empty() && theirs.len() <= 9;
    let number: u32 = theirs.parse().ok().filter(|_| digits)?;
    (number > ours.parse().ok()?).then(|| schema.to_owned())
}

/// Checks a document against [`RUN_SCHEMA`].
///
/// # Errors
/// The first [`Violation`].
#[allow(clippy::missing_panics_doc, reason = "no input leads there")]
pub fn validate_run(document: &Value) -> Result<(), Violation> {
    #[allow(clippy::expect_used, reason = "see its message")]
    let schema = serde_json::from_str(RUN_SCHEMA).expect("it is part of the program, and tested");
    validate(&schema, document)
}

/// Checks a document against a schema made of `type`, `required`, `properties`,
/// `additionalProperties`, `items`, `enum`, `const`, `minimum`, `minItems` and `maxItems`.
///
/// # Errors
/// The first [`Violation`]. A schema with another keyword is refused as well: ignoring it would pass
/// what it forbids.
pub fn validate(schema: &Value, document: &Value) -> Result<(), Violation> {
    at(schema, document, &mut String::new())
}

fn at(schema: &Value, value: &Value, path: &mut String) -> Result<(), Violation> {
    let violation = |what: String, path: &str| Violation { path: path.to_owned(), what };
    let Some(keywords) = schema.as_object() else {
        return match schema {
            Value::Bool(false) => Err(violation("not allowed here".into(), path)),
            _ => Ok(()),
        };
    };
    for (keyword, rule) in keywords {
        let what = match keyword.as_str() {
            "$schema" | "title" | "description" | "properties" | "additionalProperties" => None,
            "items" => None,
            "type" => wrong_type(rule, value),
            "const" => (rule != value).then(|| format!("is not {rule}")),
            "enum" => {
                let found = rule.as_array().is_some_and(|all| all.contains(value));
                (!found).then(|| format!("is none of {rule}"))
            }
            "required" => missing(rule, value),
            "minimum" => {
                let low = value.as_f64().zip(rule.as_f64()).is_some_and(|(value, min)| value < min);
                low.then(|| format!("is below {rule}"))
            }
            "minItems" | "maxItems" => wrong_length(keyword, rule, value),
            other => Some(format!("the schema uses {other}, which is not known here")),
        };
        if let Some(what) = what {
            return Err(violation(what, path));
        }
    }
    let length = path.len();
    for (key, inner) in value.as_object().into_iter().flatten() {
        let known = keywords.get("properties").and_then(|properties| properties.get(key));
        if let Some(rule) = known.or_else(|| keywords.get("additionalProperties")) {
            push(path, key);
            at(rule, inner, path)?;
            path.truncate(length);
        }
    }
    if let Some(rule) = keywords.get("items") {
        for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
            push(path, &index.to_string());
            at(rule, inner, path)?;
            path.truncate(length);
        }
    }
    Ok(())
}

/// Appends a step to a JSON pointer. The name may come from anybody: it is cut and made visible.
fn push(path: &mut String, step: &str) {
    path.push('/');
    let visible = step.chars().take(64).flat_map(char::escape_debug).collect::<String>();
    path.push_str(&visible.replace('~', "~0").replace('/', "~1"));
}

fn wrong_type(rule: &Value, value: &Value) -> Option<String> {
    let is = |name: &Value| match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("number") => value.is_number(),
        // Stricter than the standard, which takes 1.0: we write none.
        Some("integer") => value.is_u64() || value.is_i64(),
        _ => false,
    };
    let fits = rule.as_array().map_or_else(|| is(rule), |names| names.iter().any(is));
    (!fits).then(|| format!("is not of type {rule}"))
}

fn missing(rule: &Value, value: &Value) -> Option<String> {
    let object = value.as_object()?;
    let names = rule.as_array()?;
    let absent = names.iter().filter_map(Value::as_str).find(|name| !object.contains_key(*name))?;
    Some(format!("has no {absent:?}"))
}

fn wrong_length(keyword: &str, rule: &Value, value: &Value) -> Option<String> {
    let (length, limit) = (value.as_array()?.len() as u64, rule.as_u64()?);
    let wrong = if keyword == "minItems" { length < limit } else { length > limit };
    wrong.then(|| format!("has {length} items, and {keyword} is {limit}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn first(schema: &Value, document: &Value) -> String {
        validate(schema, document).unwrap_err().to_string()
    }

    #[test]
    fn each_keyword_refuses_what_it_forbids() {
        let nested = json!({"properties": {"a": {"items": {"type": "integer", "minimum": 2}}}});
        validate(&nested, &json!({"a": [2, 3], "b": "free"})).unwrap();
        assert_eq!(first(&nested, &json!({"a": [2, 1]})), "/a/1: is below 2");
        assert_eq!(first(&nested, &json!({"a": [2.5]})), "/a/0: is not of type \"integer\"");
        assert_eq!(first(&json!({"required": ["x"]}), &json!({})), "/: has no \"x\"");
        assert_eq!(first(&json!({"const": 1}), &json!(2)), "/: is not 1");
        assert_eq!(first(&json!({"enum": ["a"]}), &json!("b")), "/: is none of [\"a\"]");
        assert!(first(&json!({"minItems": 2}), &json!([1])).contains("1 items"));
        assert!(first(&json!({"maxItems": 0}), &json!([1])).contains("1 items"));
        assert_eq!(
            first(&json!({"additionalProperties": false}), &json!({"a/b\n": 1})),
            "/a~1b\\n: not allowed here"
        );
        validate(&json!({"type": ["number", "null"]}), &Value::Null).unwrap();
    }

    #[test]
    fn a_keyword_that_is_not_known_is_not_ignored() {
        assert!(first(&json!({"pattern": "^a"}), &json!("b")).contains("pattern"));
        assert!(validate_run(&json!({})).unwrap_err().what.contains("schema"));
    }
}

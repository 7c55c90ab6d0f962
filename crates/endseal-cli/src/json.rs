//! Objects for `--json`; docs/json.md documents their fields.

pub(crate) use serde_json::Value;

/// An object of those fields.
pub(crate) fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

//! Writes vectors, one scenario to each file.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

/// A JSON object whose fields are in alphabetical order.
pub(crate) struct Vector {
    scenario: String,
    fields: Map<String, Value>,
}

impl Vector {
    pub(crate) fn new(scenario: &str, comment: &str, expect: &str) -> Self {
        let own = Self { scenario: format!("{expect}_{scenario}"), fields: Map::new() };
        own.with("comment", comment).with("expect", expect)
    }

    pub(crate) fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        let former = self.fields.insert(field.to_owned(), value.into());
        assert_eq!(former, None, "{field} twice");
        self
    }

    pub(crate) fn with_hex(self, field: &str, bytes: &[u8]) -> Self {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.with(field, json!(hex))
    }

    pub(crate) fn write(self, dir: &Path) {
        fs::create_dir_all(dir).unwrap();
        let path = dir.join(&self.scenario).with_extension("json");
        assert!(!path.exists(), "{} twice", path.display());
        let text = serde_json::to_string_pretty(&Value::Object(self.fields)).unwrap();
        fs::write(path, text + "\n").unwrap();
    }
}

//! One scenario a file.

use core::fmt::Write as _;
use std::fs;
use std::path::Path;

/// An object of texts, numbers and lists.
#[derive(Clone)]
pub(crate) struct Vector {
    scenario: String,
    text: String,
}

impl Vector {
    pub(crate) fn new(scenario: &str, comment: &str, expect: &str) -> Self {
        Self::bare(scenario).with("comment", comment).with("expect", expect)
    }

    pub(crate) fn bare(scenario: &str) -> Self {
        Self { scenario: scenario.to_owned(), text: String::from("{\n") }
    }

    /// `value` MUST need no escape.
    pub(crate) fn with(self, field: &str, value: &str) -> Self {
        assert!(value.chars().all(|c| matches!(c, ' '..='~') && c != '"' && c != '\\'), "{value}");
        self.with_json(field, &format!("\"{value}\""))
    }

    pub(crate) fn with_hex(self, field: &str, bytes: &[u8]) -> Self {
        self.with(field, &hex(bytes))
    }

    pub(crate) fn with_json(mut self, field: &str, json: &str) -> Self {
        writeln!(self.text, "  \"{field}\": {json},").unwrap();
        self
    }

    pub(crate) fn write(self, dir: &Path) {
        fs::create_dir_all(dir).unwrap();
        let text = format!("{}\n}}\n", self.text.strip_suffix(",\n").unwrap());
        let path = dir.join(&self.scenario).with_extension("json");
        assert!(!path.exists(), "{} comes twice", self.scenario);
        fs::write(path, text).unwrap();
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

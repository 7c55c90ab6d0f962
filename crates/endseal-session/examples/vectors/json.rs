//! One scenario a file.

use core::fmt::Write as _;
use std::fs;
use std::path::Path;

/// An object of texts and numbers.
pub(crate) struct Vector {
    scenario: &'static str,
    text: String,
}

impl Vector {
    pub(crate) fn new(scenario: &'static str, comment: &str, expect: &str) -> Self {
        let own = Self { scenario, text: String::from("{\n") };
        own.with("comment", comment).with("expect", expect)
    }

    /// `value` MUST need no escape.
    pub(crate) fn with(mut self, field: &str, value: &str) -> Self {
        assert!(value.chars().all(|c| matches!(c, ' '..='~') && c != '"' && c != '\\'), "{value}");
        writeln!(self.text, "  \"{field}\": \"{value}\",").unwrap();
        self
    }

    pub(crate) fn with_hex(self, field: &str, bytes: &[u8]) -> Self {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.with(field, &hex)
    }

    pub(crate) fn with_number(mut self, field: &str, number: u64) -> Self {
        writeln!(self.text, "  \"{field}\": {number},").unwrap();
        self
    }

    pub(crate) fn write(self, dir: &Path) {
        fs::create_dir_all(dir).unwrap();
        let text = format!("{}\n}}\n", self.text.strip_suffix(",\n").unwrap());
        let path = dir.join(self.scenario).with_extension("json");
        assert!(!path.exists(), "{} comes twice", self.scenario);
        fs::write(path, text).unwrap();
    }
}

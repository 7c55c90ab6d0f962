//! Test vectors: one scenario a file.

use core::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Object of JSON whose members keep their order, and the name of its file.
#[derive(Clone, Debug)]
pub struct Vector {
    scenario: String,
    text: String,
}

impl Vector {
    /// Returns a vector with a comment and the outcome that is expected.
    #[must_use]
    pub fn new(scenario: &str, comment: &str, expect: &str) -> Self {
        Self::bare(scenario).with("comment", comment).with("expect", expect)
    }

    /// Returns a vector without members.
    #[must_use]
    pub fn bare(scenario: &str) -> Self {
        Self { scenario: scenario.to_owned(), text: String::from("{\n") }
    }

    /// Adds a text, whose escapes are ASCII.
    #[must_use]
    pub fn with(self, member: &str, value: &str) -> Self {
        let mut json = String::from("\"");
        for c in value.chars() {
            match c {
                '"' | '\\' => json.extend(['\\', c]),
                '\n' => json.push_str("\\n"),
                ' '..='~' => json.push(c),
                _ => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                    write!(json, "\\u{unit:04x}").expect("a string can be written to");
                }),
            }
        }
        self.with_json(member, &(json + "\""))
    }

    /// Adds bytes as hexadecimal digits.
    #[must_use]
    pub fn with_hex(self, member: &str, bytes: &[u8]) -> Self {
        self.with_json(member, &format!("\"{}\"", hex(bytes)))
    }

    /// Adds a field with a number, in decimal.
    #[must_use]
    pub fn with_number(self, member: &str, number: u64) -> Self {
        self.with_json(member, &number.to_string())
    }

    /// Adds a value that is JSON already.
    #[must_use]
    pub fn with_json(mut self, member: &str, json: &str) -> Self {
        writeln!(self.text, "  \"{member}\": {json},").expect("a string can be written to");
        self
    }

    /// Writes the file of the scenario into a directory, which is made if it is absent.
    ///
    /// # Panics
    /// If it has no member, if the file exists, or if it cannot be written.
    pub fn write(self, dir: &Path) {
        fs::create_dir_all(dir).unwrap();
        let members = self.text.strip_suffix(",\n").expect("a vector has a member");
        let path = dir.join(self.scenario).with_extension("json");
        assert!(!path.exists(), "{} twice", path.display());
        fs::write(path, format!("{members}\n}}\n")).unwrap();
    }
}

/// Returns bytes as lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scratch;

    #[test]
    fn members_keep_their_order_and_texts_are_ascii() {
        let scratch = Scratch::new();
        let vector =
            Vector::new("s", "a \"b\" \\\n\u{e9}\u{1f511}", "ok").with_hex("hex", &[0, 255]);
        vector.with_number("number", 7).with_json("list", "[1]").write(scratch.folder());
        let text = r#"{
  "comment": "a \"b\" \\\n\u00e9\ud83d\udd11",
  "expect": "ok",
  "hex": "00ff",
  "number": 7,
  "list": [1]
}
"#;
        assert_eq!(scratch.read("s.json"), text.as_bytes());
    }

    #[test]
    #[should_panic(expected = "twice")]
    fn a_scenario_has_one_file() {
        let scratch = Scratch::new();
        let vector = Vector::new("s", "", "ok");
        vector.clone().write(scratch.folder());
        vector.write(scratch.folder());
    }
}

//! Reads cases of `vectors/nostr-events/` and `vectors/nostr-connect/`.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// One case. Reading a field that is absent fails the test.
pub(crate) struct Case(Value);

impl Case {
    pub(crate) fn text(&self, field: &str) -> &str {
        self.0[field].as_str().unwrap_or_else(|| panic!("{field} of {}", self.0))
    }

    pub(crate) fn value(&self, field: &str) -> &Value {
        &self.0[field]
    }

    pub(crate) fn input(&self) -> Vec<u8> {
        match self.0["input_hex"].as_str() {
            Some(digits) => {
                let pairs = digits.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).unwrap());
                pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
            }
            None => self.text("input").as_bytes().to_vec(),
        }
    }

    /// Compares an outcome with the expected one. Returns true for a success, which has more fields
    /// to compare.
    pub(crate) fn meets(&self, outcome: Result<(), &str>) -> bool {
        let outcome = outcome.err().unwrap_or("ok");
        assert_eq!(outcome, self.text("expect"), "{}", self.0);
        outcome == "ok"
    }
}

/// Returns the cases of a file and a form of `vectors/nostr-events`, of which there must be at
/// least `least`.
pub(crate) fn cases(file: &str, form: &str, least: usize) -> Vec<Case> {
    cases_in("nostr-events", file, form, least)
}

/// Returns the cases of a file and a form in a folder, of which there must be at least `least`.
pub(crate) fn cases_in(folder: &str, file: &str, form: &str, least: usize) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(folder);
    let text = fs::read(folder.join(file).with_extension("json")).unwrap();
    let all: Vec<Value> = serde_json::from_slice(&text).unwrap();
    let cases: Vec<_> = all.into_iter().filter(|case| case["form"] == form).map(Case).collect();
    assert!(cases.len() >= least, "{} cases of {form}", cases.len());
    cases
}

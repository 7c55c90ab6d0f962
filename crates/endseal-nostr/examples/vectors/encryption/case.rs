//! A case: a JSON object of texts and numbers.

pub(super) use endseal_testing::hex;

/// Fields in their order, with their values as JSON.
#[derive(Clone)]
pub(super) struct Case(Vec<(&'static str, String)>);

impl Case {
    pub(super) fn new(comment: &str, expect: &str) -> Self {
        Self(Vec::new()).with("comment", comment).with("expect", expect)
    }

    pub(super) fn with(mut self, field: &'static str, text: &str) -> Self {
        self.0.push((field, serde_json::to_string(text).unwrap()));
        self
    }

    pub(super) fn with_hex(self, field: &'static str, bytes: &[u8]) -> Self {
        self.with(field, &hex(bytes))
    }

    pub(super) fn with_number(mut self, field: &'static str, number: u64) -> Self {
        self.0.push((field, number.to_string()));
        self
    }

    /// Marks that known implementations accept the input.
    pub(super) fn lenient(mut self) -> Self {
        self.0.push(("lenient", "true".to_owned()));
        self
    }
}

pub(super) fn array(cases: &[Case]) -> String {
    let object = |Case(fields): &Case| {
        let fields: Vec<String> =
            fields.iter().map(|(name, value)| format!("    \"{name}\": {value}")).collect();
        format!("  {{\n{}\n  }}", fields.join(",\n"))
    };
    let objects: Vec<String> = cases.iter().map(object).collect();
    format!("[\n{}\n]\n", objects.join(",\n"))
}

/// Returns bytes that are the same in each run and differ by `label`.
pub(super) fn fixed(label: &str) -> [u8; 32] {
    endseal_crypto::sha256::digest(label.as_bytes())
}

pub(super) fn base64(bytes: &[u8]) -> String {
    let mut out = vec![0; bytes.len().div_ceil(3) * 4];
    endseal_crypto::base64::encode(bytes, &mut out).unwrap().to_owned()
}

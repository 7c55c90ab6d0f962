//! Builder of the vectors of one kind of record.

use std::path::Path;

use endseal_testing::Vector;

/// Kind of record, with the name and value of a valid record.
pub(crate) struct Kind<'a> {
    pub(crate) dir: &'a Path,
    pub(crate) kind: &'a str,
    pub(crate) name: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

impl Kind<'_> {
    /// Writes a vector of a valid record. The values of `fields` are JSON texts.
    pub(crate) fn ok(&self, what: &str, comment: &str, value: &[u8], fields: &[(&str, &str)]) {
        let vector =
            self.vector(what, comment, "ok").with_hex("name", &self.name).with_hex("value", value);
        let add = |vector: Vector, (field, json): &(&str, &str)| vector.with_json(field, json);
        fields.iter().fold(vector, add).write(self.dir);
    }

    /// Writes a vector that is refused because of its value.
    pub(crate) fn refused(&self, what: &str, comment: &str, expect: &str, value: &[u8]) {
        let vector = self.vector(what, comment, expect);
        vector.with_hex("name", &self.name).with_hex("value", value).write(self.dir);
    }

    /// Writes a vector that is refused because of its name.
    pub(crate) fn refused_name(&self, what: &str, comment: &str, expect: &str, name: &[u8]) {
        let vector = self.vector(what, comment, expect);
        vector.with_hex("name", name).with_hex("value", &self.value).write(self.dir);
    }

    /// Returns the value of the record with `bytes` at an offset.
    pub(crate) fn with(&self, at: usize, bytes: &[u8]) -> Vec<u8> {
        let mut value = self.value.clone();
        value[at..at + bytes.len()].copy_from_slice(bytes);
        value
    }

    /// Writes the vectors that each kind has: values and names of a wrong length.
    pub(crate) fn lengths(&self) {
        let (short, long) = (&self.value[..self.value.len() - 1], [&self.value[..], &[0]].concat());
        self.refused("short", "the last byte is absent", "length", short);
        self.refused("long", "a byte follows", "length", &long);
        self.refused("no-value", "the value is empty", "length", &[]);
        if !self.name.is_empty() {
            let name = &self.name[1..];
            self.refused_name("short-name", "the name lacks a byte", "length", name);
        }
    }

    pub(crate) fn version(&self, at: usize) {
        self.refused("version", "version 2", "version", &self.with(at, &[2]));
    }

    fn vector(&self, what: &str, comment: &str, expect: &str) -> Vector {
        let scenario = format!("{}-{what}", self.kind);
        Vector::new(&scenario, comment, expect).with("kind", self.kind)
    }
}

/// Encodes a text behind its length in one byte.
pub(crate) fn text8(text: &str) -> Vec<u8> {
    [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
}

/// Encodes a list of texts behind its length in one byte.
pub(crate) fn relays(relays: &[&str]) -> Vec<u8> {
    let texts = relays.iter().flat_map(|relay| text8(relay));
    [u8::try_from(relays.len()).unwrap()].into_iter().chain(texts).collect()
}

//! The headers behind the last chunk.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::ChunkError;

/// Trailers that were announced, and those that came.
#[derive(Debug)]
pub(super) struct Trailer {
    announced: Vec<HeaderName>,
    came: HeaderMap,
    /// Text that is signed: `name:value\n` of each.
    text: Vec<u8>,
}

/// Without the blanks that may stand around a value (RFC 9110, 5.6.3).
pub(super) fn trim(value: &[u8]) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = value.iter().position(|byte| !blank(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    &value[start..end]
}

impl Trailer {
    pub(super) fn new(announced: Vec<HeaderName>) -> Self {
        Self { announced, came: HeaderMap::new(), text: Vec::new() }
    }

    /// Takes a line of the trailer, `name:value`, if the name was announced.
    pub(super) fn push(&mut self, name: &[u8], value: &[u8]) -> Result<(), ChunkError> {
        let name = HeaderName::from_bytes(name).map_err(|_| ChunkError::MalformedTrailer)?;
        let value = trim(value);
        if !self.announced.contains(&name) || self.came.contains_key(&name) {
            return Err(ChunkError::MalformedTrailer);
        }
        self.text.extend_from_slice(name.as_str().as_bytes());
        self.text.push(b':');
        self.text.extend_from_slice(value);
        self.text.push(b'\n');
        let value = HeaderValue::from_bytes(value).map_err(|_| ChunkError::MalformedTrailer)?;
        self.came.insert(name, value);
        Ok(())
    }

    pub(super) fn signed_text(&self) -> &[u8] {
        &self.text
    }

    pub(super) fn is_complete(&self) -> bool {
        self.announced.iter().all(|name| self.came.contains_key(name))
    }

    pub(super) fn finish(self) -> Result<HeaderMap, ChunkError> {
        if self.is_complete() { Ok(self.came) } else { Err(ChunkError::MalformedTrailer) }
    }
}

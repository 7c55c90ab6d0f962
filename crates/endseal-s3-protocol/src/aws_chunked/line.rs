//! Lines that may be spread over several pushes.

use super::ChunkError;

/// A line that is not complete yet.
#[derive(Debug, Default)]
pub(super) struct Line(Vec<u8>);

impl Line {
    /// Takes bytes up to and with the next LF, at most `limit`. The line without its end (LF or
    /// CRLF), or `None` if more input is needed.
    pub(super) fn take(
        &mut self,
        input: &mut &[u8],
        limit: usize,
    ) -> Result<Option<Vec<u8>>, ChunkError> {
        let end = input.iter().take(limit - self.0.len()).position(|byte| *byte == b'\n');
        let taken = end.map_or(input.len(), |end| end + 1);
        if self.0.len() + taken > limit || (end.is_none() && self.0.len() + taken == limit) {
            return Err(ChunkError::LineTooLong);
        }
        self.0.extend_from_slice(&input[..taken]);
        *input = &input[taken..];
        if end.is_none() {
            return Ok(None);
        }
        let mut line = core::mem::take(&mut self.0);
        line.pop();
        Ok(Some(line))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

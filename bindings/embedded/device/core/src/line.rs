//! Reader of lines with a bounded length.

use endseal_crypto::secret::wipe;

/// A line that has ended.
pub(crate) enum Ended {
    /// Its bytes are at the front of the buffer.
    Line(usize),
    /// It was longer than the buffer, and its bytes were dropped.
    TooLong,
}

/// Collects bytes up to a line feed. Bytes of a line that is too long are dropped up to its end.
pub(crate) struct LineReader<'b> {
    bytes: &'b mut [u8],
    len: usize,
    is_too_long: bool,
}

impl<'b> LineReader<'b> {
    pub(crate) const fn new(bytes: &'b mut [u8]) -> Self {
        Self { bytes, len: 0, is_too_long: false }
    }

    /// Takes a byte. Returns a line if the byte ends one that is not empty. The caller calls
    /// [`clear`](Self::clear) after it has used the line.
    pub(crate) fn push(&mut self, byte: u8) -> Option<Ended> {
        if byte != b'\n' {
            match self.bytes.get_mut(self.len) {
                Some(place) => {
                    *place = byte;
                    self.len += 1;
                }
                None => self.is_too_long = true,
            }
            return None;
        }
        if self.is_too_long {
            return Some(Ended::TooLong);
        }
        if self.len > 0 && self.bytes.get(self.len - 1) == Some(&b'\r') {
            self.len -= 1;
        }
        (self.len > 0).then_some(Ended::Line(self.len))
    }

    /// The bytes of the line.
    pub(crate) fn bytes(&mut self, len: usize) -> &mut [u8] {
        self.bytes.get_mut(..len).unwrap_or_default()
    }

    /// Wipes the line, which may have held a secret.
    pub(crate) fn clear(&mut self) {
        // An ended line may have lost its carriage return, which is no secret.
        wipe(self.bytes.get_mut(..self.len).unwrap_or_default());
        self.len = 0;
        self.is_too_long = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<Option<Vec<u8>>> {
        let mut buffer = [0; 4];
        let mut reader = LineReader::new(&mut buffer);
        let mut lines = Vec::new();
        for byte in bytes {
            match reader.push(*byte) {
                None => continue,
                Some(Ended::Line(len)) => lines.push(Some(reader.bytes(len).to_vec())),
                Some(Ended::TooLong) => lines.push(None),
            }
            reader.clear();
        }
        lines
    }

    #[test]
    fn lines_end_with_a_line_feed_and_empty_ones_are_passed_over() {
        assert_eq!(lines(b"\n\r\nab\r\n\ncd\nef"), [Some(b"ab".to_vec()), Some(b"cd".to_vec())]);
    }

    #[test]
    fn a_line_that_is_too_long_is_one_line() {
        let expected = [Some(b"abcd".to_vec()), None, Some(b"x".to_vec())];
        assert_eq!(lines(b"abcd\nabcdefghijkl\nx\n"), expected);
    }
}

//! Content that can be produced from any offset on without storing it, so that downloads can be
//! compared with it.

use std::sync::OnceLock;

use bytes::Bytes;

/// Bytes of a chunk, as botocore has them.
pub(crate) const CHUNK: u64 = 1 << 20;

/// Length of the period, a prime: no boundary of chunks, segments or parts is at the same position
/// in two periods, so that exchanged pieces are noticed.
const PERIOD: usize = 4_194_301;

/// Returns random bytes, which cannot be compressed. They are not secret.
fn block() -> &'static [u8] {
    static BLOCK: OnceLock<Vec<u8>> = OnceLock::new();
    BLOCK.get_or_init(|| {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut bytes = Vec::with_capacity(PERIOD + 8);
        while bytes.len() < PERIOD {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes.extend_from_slice(&state.to_le_bytes());
        }
        bytes.truncate(PERIOD);
        bytes
    })
}

/// Content of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// Start of the content within the period, different for each object.
    start: u64,
    pub(crate) len: u64,
}

impl Content {
    pub(crate) fn new(number: u64, len: u64) -> Self {
        Self { start: number.wrapping_mul(977), len }
    }

    /// Returns the `len` bytes from `offset` on as a content of their own.
    pub(crate) fn part(self, offset: u64, len: u64) -> Self {
        Self { start: self.start.wrapping_add(offset), len }
    }

    /// Returns some bytes from `offset` on, at most to the end; an empty slice at the end.
    pub(crate) fn from(&self, offset: u64) -> &'static [u8] {
        let at = self.start.wrapping_add(offset) % PERIOD as u64;
        let piece = usize::try_from(at).map_or(&[][..], |at| &block()[at..]);
        let left = self.len.saturating_sub(offset);
        usize::try_from(left).map_or(piece, |left| &piece[..left.min(piece.len())])
    }

    /// Returns the whole content in pieces, which are not copied.
    pub(crate) fn pieces(self) -> impl Iterator<Item = Bytes> {
        let mut at = 0;
        core::iter::from_fn(move || {
            let piece = self.from(at);
            at += piece.len() as u64;
            (!piece.is_empty()).then_some(Bytes::from_static(piece))
        })
    }

    /// Returns true if `bytes` are the content from `offset` on.
    pub(crate) fn matches(&self, mut offset: u64, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            let piece = self.from(offset);
            let len = piece.len().min(bytes.len());
            if len == 0 || piece[..len] != bytes[..len] {
                return false;
            }
            offset += len as u64;
            bytes = &bytes[len..];
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_known_at_every_offset() {
        let content = Content::new(3, 3 * PERIOD as u64 + 5);
        let mut whole = Vec::new();
        while !content.from(whole.len() as u64).is_empty() {
            whole.extend_from_slice(content.from(whole.len() as u64));
        }
        assert_eq!(whole.len() as u64, content.len);
        for offset in [0, 1, PERIOD - 3000, PERIOD, whole.len() - 7] {
            let end = (offset + 9000).min(whole.len());
            assert!(content.matches(offset as u64, &whole[offset..end]), "{offset}");
            assert!(!content.matches(offset as u64 + 1, &whole[offset..end]), "{offset}");
        }
        let part = content.part(PERIOD as u64 - 10, 50);
        assert!(part.matches(0, &whole[PERIOD - 10..PERIOD + 40]));
        assert!(part.from(50).is_empty());
        assert!(!Content::new(4, 100).matches(0, &whole[..100]));
        assert!(!content.matches(0, &[&whole[..], &[0]].concat()), "nothing follows the end");
    }
}

//! BLAKE3 ([C2SP BLAKE3](https://c2sp.org/BLAKE3)) in its three modes.

use core::fmt;

use blake3::Hasher;

use super::label::Label;
use crate::low::wipe::WipeOnDrop;

/// Length of a digest in bytes.
pub const LEN: usize = 32;

/// Computes the digest `BLAKE3(data)` of 32 bytes.
#[must_use]
pub fn digest(data: &[u8]) -> [u8; LEN] {
    *blake3::hash(data).as_bytes()
}

/// `BLAKE3-derive(label, part_0 || part_1 || …)`.
///
/// The concatenation is not framed: the caller MUST make it unambiguous, by fixed lengths or with
/// at most one part of variable length.
#[must_use]
pub fn derive(label: Label, parts: &[&[u8]]) -> [u8; LEN] {
    let mut out = [0; LEN];
    derive_into(label, parts, &mut out);
    out
}

/// Derives as [`derive()`] does, but fills all of `out`, which may have any length.
pub fn derive_into(label: Label, parts: &[&[u8]], out: &mut [u8]) {
    fill(WipeOnDrop::new(Hasher::new_derive_key(label.as_str())), parts, out);
}

/// Fills `out` with `BLAKE3-keyed(key, part_0 || part_1 || …)`. The duty of the caller is that of
/// [`derive()`].
pub fn keyed_into(key: &[u8; LEN], parts: &[&[u8]], out: &mut [u8]) {
    fill(WipeOnDrop::new(Hasher::new_keyed(key)), parts, out);
}

#[inline]
fn fill(mut hasher: WipeOnDrop<Hasher>, parts: &[&[u8]], out: &mut [u8]) {
    for part in parts {
        hasher.update(part);
    }
    WipeOnDrop::new(hasher.finalize_xof()).fill(out);
}

/// A digest of data that comes in pieces. Wiped when dropped.
#[derive(Clone)]
pub struct Digest(WipeOnDrop<Hasher>);

impl Default for Digest {
    fn default() -> Self {
        Self(WipeOnDrop::new(Hasher::new()))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest")
    }
}

impl Digest {
    /// A digest of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds data. Pieces of 16 KiB and more let the widest vector code run.
    pub fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    /// The digest of all that was added.
    #[must_use]
    pub fn finish(&self) -> [u8; LEN] {
        *self.0.finalize().as_bytes()
    }

    /// Forgets all data, so that the next digest begins with empty input.
    pub fn reset(&mut self) {
        self.0.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label;

    #[test]
    fn pieces_and_whole_agree() {
        let data: alloc::vec::Vec<u8> = (0..100_000_u32).map(|i| i.to_le_bytes()[0]).collect();
        let mut pieces = Digest::new();
        for piece in data.chunks(7_919) {
            pieces.update(piece);
        }
        assert_eq!(pieces.finish(), digest(&data));
        pieces.reset();
        assert_eq!(pieces.finish(), digest(b""));
    }

    #[test]
    fn modes_are_separate() {
        let key = digest(b"key");
        let mut keyed = [0; 32];
        keyed_into(&key, &[b"data"], &mut keyed);
        assert_ne!(keyed, digest(b"data"));
        assert_ne!(keyed, derive(label::ENVELOPE_HEADER, &[b"data"]));
        assert_ne!(
            derive(label::ENVELOPE_HEADER, &[b"data"]),
            derive(label::ENVELOPE_COMPACT, &[b"data"])
        );
    }
}

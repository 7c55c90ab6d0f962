//! SHA-512 (FIPS 180-4), as protocols of others ask for it. Only with the feature `std`.

use aws_lc_rs::digest::{Context, SHA512};

/// Length of a digest in bytes.
pub const LEN: usize = 64;

/// A digest of data that comes in pieces.
#[derive(Clone)]
pub struct Digest(Context);

impl Digest {
    /// A digest of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self(Context::new(&SHA512))
    }

    /// Adds data to the hashed input; may be called any number of times.
    pub fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    /// The digest of all that was added.
    #[must_use]
    pub fn finish(self) -> [u8; LEN] {
        let mut out = [0; LEN];
        out.copy_from_slice(self.0.finish().as_ref());
        out
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for Digest {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Digest")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_agree_with_the_twin() {
        use sha2::Digest as _;
        let data: alloc::vec::Vec<u8> = (0..1_000_u32).map(|i| i.to_le_bytes()[0]).collect();
        for len in [0, 1, 111, 112, 127, 128, 129, 1_000] {
            let mut pieces = Digest::new();
            for piece in data[..len].chunks(7) {
                pieces.update(piece);
            }
            let twin: [u8; LEN] = sha2::Sha512::digest(&data[..len]).into();
            assert_eq!(pieces.finish(), twin);
        }
    }
}

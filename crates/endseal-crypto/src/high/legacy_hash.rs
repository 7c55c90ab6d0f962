//! SHA-1 (FIPS 180-4) and MD5 (RFC 1321): checksums that existing protocols require.
//!
//! Both are broken as cryptographic hashes. The caller MUST NOT derive security from them: an
//! author of data can make two inputs with one digest. Only with the feature `std`.

use aws_lc_rs::digest as backend;
use md5::Digest as _;

/// A SHA-1 checksum of data that comes in pieces.
#[derive(Clone)]
pub struct Sha1(backend::Context);

impl Sha1 {
    /// Length of a checksum in bytes.
    pub const LEN: usize = 20;

    /// A checksum of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self(backend::Context::new(&backend::SHA1_FOR_LEGACY_USE_ONLY))
    }

    /// Adds data to the hashed input; may be called any number of times.
    pub fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    /// The checksum of all that was added.
    #[must_use]
    pub fn finish(self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out.copy_from_slice(self.0.finish().as_ref());
        out
    }
}

impl Default for Sha1 {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for Sha1 {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Sha1")
    }
}

/// An MD5 checksum of data that comes in pieces.
#[derive(Clone, Default)]
pub struct Md5(md5::Md5);

impl Md5 {
    /// Length of a checksum in bytes.
    pub const LEN: usize = 16;

    /// A checksum of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds data to the hashed input; may be called any number of times.
    pub fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    /// The checksum of all that was added.
    #[must_use]
    pub fn finish(self) -> [u8; Self::LEN] {
        self.0.finalize().into()
    }
}

impl core::fmt::Debug for Md5 {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Md5")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4's and RFC 1321's own example, in two pieces.
    #[test]
    fn the_published_digests_come_out() {
        let mut sha1 = Sha1::new();
        sha1.update(b"a");
        sha1.update(b"bc");
        let expected = [0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81, 0x6a, 0xba, 0x3e];
        assert_eq!(sha1.finish()[..10], expected);
        let mut md5 = Md5::new();
        md5.update(b"message ");
        md5.update(b"digest");
        let expected = [0xf9, 0x6b, 0x69, 0x7d, 0x7c, 0xb7, 0x93, 0x8d];
        assert_eq!(md5.finish()[..8], expected);
    }
}

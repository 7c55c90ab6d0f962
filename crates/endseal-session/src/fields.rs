//! The fields of a binary format, one after the other.

/// Bytes that were not read yet.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next N bytes.
    pub(crate) fn array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(field)
    }

    /// The next byte.
    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| *byte)
    }

    /// The next `len` bytes.
    pub(crate) fn slice(&mut self, len: usize) -> Option<&'a [u8]> {
        let (field, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(field)
    }

    /// Everything that follows.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.0
    }
}

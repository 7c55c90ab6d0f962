//! Reader of the fields of a binary format.

/// The bytes that were not read yet.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Reads the next N bytes; `None` if there are fewer.
    pub(crate) fn array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(field)
    }

    /// Reads the next byte; `None` at the end.
    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| *byte)
    }

    /// Reads the next `len` bytes; `None` if there are fewer.
    pub(crate) fn slice(&mut self, len: usize) -> Option<&'a [u8]> {
        let (field, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(field)
    }

    /// Returns all bytes that were not read.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.0
    }
}

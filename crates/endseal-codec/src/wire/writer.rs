//! Destinations of an encoding: the end of a vector, or a buffer of the caller.

use alloc::vec::Vec;
use core::mem;

use super::WireType;

/// Takes an encoding piece by piece.
pub trait Sink {
    /// Appends the bytes to the output.
    fn put(&mut self, bytes: &[u8]);

    /// Appends one byte to the output.
    fn byte(&mut self, byte: u8);

    /// Appends a value as a varint of the shortest form.
    #[inline]
    fn varint(&mut self, value: u64) {
        // Byte for byte: a copy of a length that is not constant costs a call.
        let mut rest = value;
        while rest >= 0x80 {
            self.byte(group(rest) | 0x80);
            rest >>= 7;
        }
        self.byte(group(rest));
    }

    /// Takes a tag. Field numbers of the contract are below 16, which the declaration of each
    /// message asserts: their tags have one byte.
    #[inline]
    fn tag(&mut self, number: u8, wire: WireType) {
        self.byte(number << 3 | wire.bits());
    }

    /// Takes a length, and as many bytes.
    #[inline]
    fn delimited(&mut self, bytes: &[u8]) {
        self.varint(bytes.len() as u64);
        self.put(bytes);
    }
}

/// The lowest seven bits of a value, which one byte of a varint holds.
fn group(value: u64) -> u8 {
    (value & 0x7f) as u8
}

impl Sink for Vec<u8> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        self.push(byte);
    }
}

/// A buffer that was measured for what is written into it.
#[derive(Debug)]
pub(crate) struct Buffer<'a> {
    rest: &'a mut [u8],
}

impl<'a> Buffer<'a> {
    pub(crate) fn new(out: &'a mut [u8]) -> Self {
        Self { rest: out }
    }

    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }
}

impl Sink for Buffer<'_> {
    /// # Panics
    /// If the encoding is longer than it was measured: a shorter one would be another message.
    #[inline]
    #[allow(clippy::expect_used)]
    fn put(&mut self, bytes: &[u8]) {
        let (head, rest) = mem::take(&mut self.rest)
            .split_at_mut_checked(bytes.len())
            .expect("the buffer has the length that the encoding was measured to have");
        head.copy_from_slice(bytes);
        self.rest = rest;
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        self.put(&[byte]);
    }
}

#[cfg(test)]
mod tests {
    use super::{Buffer, Sink as _};

    #[test]
    #[should_panic(expected = "measured to have")]
    fn an_encoding_longer_than_its_buffer_is_not_cut() {
        let mut out = [0; 3];
        let mut buffer = Buffer::new(&mut out);
        buffer.put(b"ab");
        buffer.put(b"cd");
    }
}

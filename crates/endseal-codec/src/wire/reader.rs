//! One pass over an encoding, with checked lengths.

use super::WireType;
use super::varint::{self, Fault};
use crate::error::DecodeError;

/// What is left of an encoding.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

/// Number and wire type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) number: u32,
    pub(crate) wire: WireType,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, DecodeError> {
        // Tags, short lengths and small numbers: one byte.
        if let Some((&byte, rest)) = self.rest.split_first()
            && byte < 0x80
        {
            self.rest = rest;
            return Ok(byte.into());
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Result<u64, DecodeError> {
        let (value, len) = varint::read(self.rest).map_err(|fault| match fault {
            Fault::Truncated => DecodeError::Truncated,
            Fault::Malformed => DecodeError::Varint,
        })?;
        self.take(len)?;
        Ok(value)
    }

    #[inline]
    pub(crate) fn tag(&mut self) -> Result<Tag, DecodeError> {
        let tag = u32::try_from(self.varint()?).map_err(|_| DecodeError::Tag)?;
        let number = tag >> 3;
        if number == 0 {
            return Err(DecodeError::Tag);
        }
        let wire = match tag & 7 {
            0 => WireType::Varint,
            1 => WireType::Fixed64,
            2 => WireType::Length,
            5 => WireType::Fixed32,
            _ => return Err(DecodeError::Tag),
        };
        Ok(Tag { number, wire })
    }

    /// A length, and as many bytes.
    #[inline]
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let len = usize::try_from(self.varint()?).map_err(|_| DecodeError::Truncated)?;
        self.take(len)
    }

    /// Passes over a value without looking at it.
    #[inline]
    pub(crate) fn skip(&mut self, wire: WireType) -> Result<(), DecodeError> {
        match wire {
            WireType::Varint => self.varint().map(drop),
            WireType::Fixed64 => self.take(8).map(drop),
            WireType::Length => self.bytes().map(drop),
            WireType::Fixed32 => self.take(4).map(drop),
        }
    }

    #[inline]
    fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(bytes: &[u8]) -> Result<(u32, WireType), DecodeError> {
        Reader::new(bytes).tag().map(|tag| (tag.number, tag.wire))
    }

    #[test]
    fn tags_have_a_number_and_a_known_type() {
        assert_eq!(tag(&[0x08]), Ok((1, WireType::Varint)));
        assert_eq!(tag(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Err(DecodeError::Tag));
        assert_eq!(tag(&[0xfd, 0xff, 0xff, 0xff, 0x0f]), Ok(((1 << 29) - 1, WireType::Fixed32)));
        assert_eq!(tag(&[0x80, 0x80, 0x80, 0x80, 0x10]), Err(DecodeError::Tag));
        for zero in 0..8 {
            assert_eq!(tag(&[zero]), Err(DecodeError::Tag));
        }
        for group in [3, 4, 6, 7] {
            assert_eq!(tag(&[0x08 | group]), Err(DecodeError::Tag));
        }
        assert_eq!(tag(&[0x88, 0x00]), Err(DecodeError::Varint));
        assert_eq!(tag(&[0x88]), Err(DecodeError::Truncated));
    }

    #[test]
    fn values_are_passed_over_by_their_type() {
        let skipped = |wire, bytes: &[u8]| {
            let mut reader = Reader::new(bytes);
            reader.skip(wire).map(|()| bytes.len() - reader.rest().len())
        };
        let bytes = [0x05, 1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(skipped(WireType::Varint, &bytes), Ok(1));
        assert_eq!(skipped(WireType::Fixed64, &bytes), Ok(8));
        assert_eq!(skipped(WireType::Length, &bytes), Ok(6));
        assert_eq!(skipped(WireType::Fixed32, &bytes), Ok(4));
        for wire in [WireType::Fixed64, WireType::Length, WireType::Fixed32] {
            assert_eq!(skipped(wire, &bytes[..3]), Err(DecodeError::Truncated));
        }
        assert_eq!(skipped(WireType::Length, &[0xff; 10]), Err(DecodeError::Varint));
    }
}

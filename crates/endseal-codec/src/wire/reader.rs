//! One pass over an encoding, with checked lengths.

use super::WireType;
use super::varint::{self, Fault};
use crate::error::DecodeError;

/// The part of an encoding that has not been read yet.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

/// Number and wire type of a field, as they were read. A caller compares them with the tag that it
/// expects, and examines them further only if they differ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tag(u32);

impl Tag {
    /// A message has no field of number 0, so that it is refused with the unknown ones.
    #[inline]
    pub(crate) fn number(self) -> u32 {
        self.0 >> 3
    }

    /// Checks that the field has the expected wire type.
    ///
    /// # Errors
    /// `Type` if not, or `Tag` if it is delimited in no way that there is.
    #[inline]
    pub(crate) fn expect(self, wire: WireType) -> Result<(), DecodeError> {
        if self.0 & 7 == u32::from(wire.bits()) {
            return Ok(());
        }
        self.wire()?;
        Err(DecodeError::Type)
    }

    /// Returns the wire type of a field of any number but 0.
    #[inline]
    pub(crate) fn wire(self) -> Result<WireType, DecodeError> {
        match self.0 & 7 {
            _ if self.number() == 0 => Err(DecodeError::Tag),
            0 => Ok(WireType::Varint),
            1 => Ok(WireType::Fixed64),
            2 => Ok(WireType::Length),
            5 => Ok(WireType::Fixed32),
            _ => Err(DecodeError::Tag),
        }
    }
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
        let (value, rest) = long_varint(self.rest)?;
        self.rest = rest;
        Ok(value)
    }

    #[inline]
    pub(crate) fn tag(&mut self) -> Result<Tag, DecodeError> {
        u32::try_from(self.varint()?).map(Tag).map_err(|_| DecodeError::Tag)
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

/// A varint of more than one byte, and what follows it. Takes the bytes and not the reader, so that
/// a reader need not lie in memory.
#[inline(never)]
fn long_varint(bytes: &[u8]) -> Result<(u64, &[u8]), DecodeError> {
    let (value, len) = varint::read(bytes).map_err(|fault| match fault {
        Fault::Truncated => DecodeError::Truncated,
        Fault::Malformed => DecodeError::Varint,
    })?;
    let rest = bytes.get(len..).ok_or(DecodeError::Truncated)?;
    Ok((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(bytes: &[u8]) -> Result<(u32, WireType), DecodeError> {
        let tag = Reader::new(bytes).tag()?;
        Ok((tag.number(), tag.wire()?))
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
    fn what_is_expected_is_told_from_other_types_and_from_none() {
        let expect = |byte: u8, wire| Reader::new(&[byte]).tag().and_then(|tag| tag.expect(wire));
        let all = [WireType::Varint, WireType::Fixed64, WireType::Length, WireType::Fixed32];
        for wire in all {
            for other in all {
                let expected = if wire == other { Ok(()) } else { Err(DecodeError::Type) };
                assert_eq!(expect(0x08 | other.bits(), wire), expected);
            }
            for group in [3, 4, 6, 7] {
                assert_eq!(expect(0x08 | group, wire), Err(DecodeError::Tag));
            }
        }
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

//! Encoding and decoding, the same for all messages.

use alloc::vec::Vec;

use crate::error::{DecodeError, EncodeError};
use crate::limits::Limits;
use crate::schema::Schema;
use crate::schema::contract::MessageContract;
use crate::wire::writer::Buffer;

/// A message of the contract.
pub trait Codec: Schema {
    /// Reads a message without copying: the view consists of slices of `bytes`, and of lists that
    /// are read while they are iterated over. Everything is checked here, so that nothing fails
    /// later.
    ///
    /// # Errors
    /// The class of the first violation.
    fn view(bytes: &[u8], limits: Limits) -> Result<Self::View<'_>, DecodeError> {
        if limits.allow(bytes.len()) { Self::parse(bytes) } else { Err(DecodeError::Limit) }
    }

    /// Reads a message into one that borrows nothing. For n bytes of any content it takes at most
    /// 2n + 4,096 bytes of heap.
    ///
    /// # Errors
    /// The class of the first violation; then nothing was allocated.
    fn decode(bytes: &[u8], limits: Limits) -> Result<Self, DecodeError> {
        Self::view(bytes, limits).map(Self::from_view)
    }

    /// Returns the exact length of the encoding in bytes.
    ///
    /// # Errors
    /// [`EncodeError`] for a message that a reader with the same limits would refuse.
    fn encoded_len(&self, limits: Limits) -> Result<usize, EncodeError> {
        self.check()?;
        let len = self.len();
        if limits.allow(len) { Ok(len) } else { Err(EncodeError::Limit) }
    }

    /// Writes the encoding to the front of `out`, and returns how many bytes it has.
    ///
    /// # Errors
    /// As [`encoded_len`](Self::encoded_len), or [`EncodeError::Buffer`] if `out` is shorter than
    /// that; then nothing was written.
    fn encode(&self, limits: Limits, out: &mut [u8]) -> Result<usize, EncodeError> {
        let len = self.encoded_len(limits)?;
        let out = out.get_mut(..len).ok_or(EncodeError::Buffer)?;
        let mut buffer = Buffer::new(out);
        self.write(&mut buffer);
        assert_eq!(buffer.left(), 0, "an encoding is shorter than it was measured");
        Ok(len)
    }

    /// Appends the encoding to `out`, and returns how many bytes it has. Allocates once at most.
    ///
    /// # Errors
    /// As [`encoded_len`](Self::encoded_len); then nothing was written.
    fn append_to(&self, limits: Limits, out: &mut Vec<u8>) -> Result<usize, EncodeError> {
        let len = self.encoded_len(limits)?;
        let start = out.len();
        out.reserve(len);
        self.write(out);
        assert_eq!(out.len(), start + len, "an encoding has another length than measured");
        Ok(len)
    }

    /// The encoding, in a vector of its size.
    ///
    /// # Errors
    /// As [`encoded_len`](Self::encoded_len).
    fn to_vec(&self, limits: Limits) -> Result<Vec<u8>, EncodeError> {
        let mut out = Vec::new();
        self.append_to(limits, &mut out)?;
        Ok(out)
    }

    /// Returns the message's part of the contract, for tools and tests.
    #[must_use]
    fn contract() -> MessageContract {
        Self::describe()
    }
}

impl<M: Schema> Codec for M {}

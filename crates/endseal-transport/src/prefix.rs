//! Prefix of a stream (docs/spec/transport.md, "Streams").

use bytes::{BufMut, BytesMut};

use crate::limits::{FRAME_INITIAL, FRAME_MAX};

/// Type of a stream, its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamType {
    /// The first unidirectional stream of each side, for control frames.
    Control,
    /// Every other unidirectional stream, for frames in one direction.
    Message,
    /// Every bidirectional stream, for frames in both directions.
    Exchange,
}

impl StreamType {
    /// Returns the byte that stands for the type on the wire.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Control => 0,
            Self::Message => 1,
            Self::Exchange => 2,
        }
    }
}

/// The first bytes of a stream, before its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prefix {
    /// Prefix of a control stream.
    Control {
        /// Largest payload that the sender of the prefix accepts, 65,536 to 16,777,216 bytes.
        max_payload: u32,
    },
    /// Prefix of a message stream.
    Message,
    /// Prefix of an exchange.
    Exchange,
}

impl Prefix {
    /// Length of the longest valid prefix, in bytes.
    pub(crate) const MAX_LEN: usize = 5;

    /// Appends the encoded prefix to `out`.
    pub fn encode(self, out: &mut BytesMut) {
        match self {
            Self::Control { max_payload } => {
                out.put_u8(StreamType::Control.number());
                put_varint(out, max_payload);
            }
            Self::Message => out.put_u8(StreamType::Message.number()),
            Self::Exchange => out.put_u8(StreamType::Exchange.number()),
        }
    }

    /// Decodes the prefix of a stream that must be of type `expected`. Returns it with its length
    /// in bytes, or `None` if more bytes are needed.
    ///
    /// # Errors
    /// [`PrefixError`] if the type differs, a number is malformed, or the announced limit is out of
    /// bounds.
    pub fn decode(
        bytes: &[u8],
        expected: StreamType,
    ) -> Result<Option<(Self, usize)>, PrefixError> {
        let Some(&first) = bytes.first() else { return Ok(None) };
        if first != expected.number() {
            return Err(PrefixError::Type(first));
        }
        match expected {
            StreamType::Message => Ok(Some((Self::Message, 1))),
            StreamType::Exchange => Ok(Some((Self::Exchange, 1))),
            StreamType::Control => {
                let Some((max, len)) = varint(&bytes[1..])? else { return Ok(None) };
                match u32::try_from(max) {
                    Ok(max_payload) if (FRAME_INITIAL..=FRAME_MAX).contains(&max_payload) => {
                        Ok(Some((Self::Control { max_payload }, 1 + len)))
                    }
                    _ => Err(PrefixError::Maximum(max)),
                }
            }
        }
    }
}

fn put_varint(out: &mut BytesMut, mut value: u32) {
    while value >= 0x80 {
        out.put_u8(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.put_u8(value.to_le_bytes()[0]);
}

/// Decodes a varint by the rules of frames, and returns it with its length; `None` if more bytes
/// are needed.
fn varint(bytes: &[u8]) -> Result<Option<(u64, usize)>, PrefixError> {
    let mut value = 0;
    for (i, &byte) in bytes.iter().take(9).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            let overlong = byte == 0 && i > 0;
            let refused = overlong || value >= 1 << 62;
            return if refused { Err(PrefixError::Varint) } else { Ok(Some((value, i + 1))) };
        }
    }
    // Nine bytes hold 63 bits: a number that has not ended there is too large in any case.
    if bytes.len() < 9 { Ok(None) } else { Err(PrefixError::Varint) }
}

/// Error of decoding the prefix of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PrefixError {
    /// The type is unknown, or not allowed at this place.
    #[error("a stream of type {0:#04x} is not expected there")]
    Type(u8),
    /// A number is not in its shortest form, or not below 2^62.
    #[error("a number at the start of a stream is malformed")]
    Varint,
    /// The announced largest payload is out of bounds.
    #[error("the announced largest payload, {0} bytes, is out of bounds")]
    Maximum(u64),
}

impl PrefixError {
    /// Returns a stable name of the variant, as used in the test vectors.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Type(_) => "stream",
            Self::Varint => "varint",
            Self::Maximum(_) => "maximum",
        }
    }
}

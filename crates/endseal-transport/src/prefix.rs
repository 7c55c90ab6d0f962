//! First bytes of a stream (docs/spec/transport.md, "Streams").

use bytes::{BufMut, BytesMut};

use crate::limits::{FRAME_INITIAL, FRAME_MAX};

/// The type of a stream, its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamType {
    /// The first unidirectional stream of each side.
    Control,
    /// Every other unidirectional stream.
    Message,
    /// Every bidirectional stream.
    Exchange,
}

impl StreamType {
    /// The byte.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Control => 0,
            Self::Message => 1,
            Self::Exchange => 2,
        }
    }
}

/// Prefix with which a stream begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prefix {
    /// A control stream, with the largest payload that its sender accepts.
    Control {
        /// 64 KiB to 16 MiB.
        max_payload: u32,
    },
    /// A message stream.
    Message,
    /// An exchange.
    Exchange,
}

impl Prefix {
    /// Bytes of the longest prefix that is accepted.
    pub(crate) const MAX_LEN: usize = 5;

    /// Appends the encoding.
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

    /// Decodes the prefix of a stream that must be of type `expected`, and says how many bytes it
    /// has. `None` if it is not complete yet.
    ///
    /// # Errors
    /// [`PrefixError`].
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

/// The number and its length by the rules of frames; `None` if it is not complete yet.
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
    // Nine bytes hold 63 bits: what has not ended there is too large, however it goes on.
    if bytes.len() < 9 { Ok(None) } else { Err(PrefixError::Varint) }
}

/// Why the beginning of a stream is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrefixError {
    /// A type that is unknown, or has no business there.
    Type(u8),
    /// A number that is not in shortest form, or not below 2^62.
    Varint,
    /// A largest payload out of bounds.
    Maximum(u64),
}

impl PrefixError {
    /// A stable name of the class, as in the test vectors.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Type(_) => "stream",
            Self::Varint => "varint",
            Self::Maximum(_) => "maximum",
        }
    }
}

impl core::fmt::Display for PrefixError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Type(kind) => write!(f, "a stream of type {kind:#04x} is not expected there"),
            Self::Varint => f.write_str("a number of a stream is not in shortest form"),
            Self::Maximum(max) => write!(f, "a largest payload of {max} bytes is out of bounds"),
        }
    }
}

impl core::error::Error for PrefixError {}

//! The header of a live frame.

use super::FrameError;
use crate::limits::Limits;
use crate::wire::varint::{self, Fault};

const VERSION: u8 = 1;
const IDEMPOTENT: u8 = 1;
const SEALED: u8 = 2;
/// Exclusive upper bound of lengths and sequences.
const END: u64 = 1 << 62;

/// Kind of the payload of a live frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A control message; the protocol that uses the connection defines its content.
    Control,
    /// A `Message`, or a `SealedMessage` if the frame says so.
    Message,
    /// Bytes of a file that was offered before.
    Data,
}

/// The header of a frame on a connection: 4 bytes and more, at most [`Self::MAX_LEN`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveHeader {
    kind: Kind,
    idempotent: bool,
    sealed: bool,
    length: u32,
    sequence: u64,
}

impl LiveHeader {
    /// Length in bytes of the longest header.
    pub const MAX_LEN: usize = 2 + 9 + 9;

    /// The header of a payload of `length` bytes, which is frame `sequence` of its stream.
    ///
    /// # Errors
    /// [`FrameError::Limit`] for a length above the maximum, [`FrameError::Sequence`] for a
    /// sequence of 2^62 or above.
    pub fn new(
        kind: Kind,
        length: usize,
        sequence: u64,
        limits: Limits,
    ) -> Result<Self, FrameError> {
        let length = u32::try_from(length).map_err(|_| FrameError::Limit)?;
        if length > limits.maximum() {
            return Err(FrameError::Limit);
        }
        if sequence >= END {
            return Err(FrameError::Sequence);
        }
        Ok(Self { kind, idempotent: false, sealed: false, length, sequence })
    }

    /// The same for a payload that does no harm when it is acted on twice. Only such frames may be
    /// sent as 0-RTT data, which an attacker can repeat.
    #[must_use]
    pub fn idempotent(self) -> Self {
        Self { idempotent: true, ..self }
    }

    /// The header of a `SealedMessage`; `None` on another kind than [`Kind::Message`].
    #[must_use]
    pub fn sealed(self) -> Option<Self> {
        (self.kind == Kind::Message).then_some(Self { sealed: true, ..self })
    }

    /// Returns the kind of the payload.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns true if acting on it twice does no harm.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.idempotent
    }

    /// Returns true if the payload is a `SealedMessage`.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// Length of the payload in bytes, which follows the header.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length as usize
    }

    /// Sequence number of the frame in its stream, from 0.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Length of the encoded header in bytes.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        2 + varint::len(self.length.into()) + varint::len(self.sequence)
    }

    /// Writes the header to the front of `out`, and returns how many bytes it has.
    pub fn write(&self, out: &mut [u8; Self::MAX_LEN]) -> usize {
        let kind = match self.kind {
            Kind::Control => 0,
            Kind::Message => 1,
            Kind::Data => 2,
        };
        out[0] = VERSION << 4 | kind;
        out[1] = (u8::from(self.idempotent) * IDEMPOTENT) | (u8::from(self.sealed) * SEALED);
        let mut at = 2;
        for number in [self.length.into(), self.sequence] {
            let mut form = [0; varint::MAX_LEN];
            let len = varint::write(number, &mut form);
            out[at..at + len].copy_from_slice(&form[..len]);
            at += len;
        }
        at
    }

    /// Reads the header of frame `expected` from the front of `bytes`. Returns the header and its
    /// length, or `None` if more bytes are needed. The result does not depend on the pieces in
    /// which the bytes arrive.
    ///
    /// # Errors
    /// The first violation, as soon as the bytes show it. The caller must end the stream there: it
    /// cannot know where the next frame begins.
    pub fn parse(
        bytes: &[u8],
        expected: u64,
        limits: Limits,
    ) -> Result<Option<(Self, usize)>, FrameError> {
        let Some(&first) = bytes.first() else { return Ok(None) };
        if first >> 4 != VERSION {
            return Err(FrameError::Version);
        }
        let kind = match first & 0x0f {
            0 => Kind::Control,
            1 => Kind::Message,
            2 => Kind::Data,
            _ => return Err(FrameError::Kind),
        };
        let Some((&flags, numbers)) = bytes[1..].split_first() else { return Ok(None) };
        let (idempotent, sealed) = (flags & IDEMPOTENT != 0, flags & SEALED != 0);
        if flags & !(IDEMPOTENT | SEALED) != 0 || (sealed && kind != Kind::Message) {
            return Err(FrameError::Flags);
        }
        let Some((length, length_len)) = number(numbers)? else { return Ok(None) };
        let Some((sequence, sequence_len)) = number(&numbers[length_len..])? else {
            return Ok(None);
        };
        let length = u32::try_from(length).map_err(|_| FrameError::Limit)?;
        if length > limits.maximum() {
            return Err(FrameError::Limit);
        }
        if sequence != expected {
            return Err(FrameError::Sequence);
        }
        let header = Self { kind, idempotent, sealed, length, sequence };
        Ok(Some((header, 2 + length_len + sequence_len)))
    }
}

fn number(bytes: &[u8]) -> Result<Option<(u64, usize)>, FrameError> {
    match varint::read(bytes) {
        Ok((value, _)) if value >= END => Err(FrameError::Varint),
        Ok(number) => Ok(Some(number)),
        // Nine bytes hold 63 bits: what has not ended there is too large, however it goes on.
        Err(Fault::Truncated) if bytes.len() < 9 => Ok(None),
        Err(Fault::Truncated | Fault::Malformed) => Err(FrameError::Varint),
    }
}

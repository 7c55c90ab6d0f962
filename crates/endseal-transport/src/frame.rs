//! The live frame (docs/spec/transport.md, "Frames").

use core::fmt;

use bytes::{BufMut, Bytes, BytesMut};

/// Version of the layout, the high nibble of the first byte.
const VERSION: u8 = 1;
/// Bytes of the longest header: type, flags, a 32-bit and a 64-bit varint.
pub(crate) const HEADER_MAX: usize = 2 + 5 + 10;

/// What a frame is about: 0 to 15, defined by who uses the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(u8);

impl Kind {
    /// A kind. `None` above 15.
    #[must_use]
    pub const fn new(kind: u8) -> Option<Self> {
        if kind < 16 { Some(Self(kind)) } else { None }
    }

    /// Its number.
    #[must_use]
    pub const fn as_u8(self) -> u8 {
        self.0
    }
}

/// Flags of a frame. All others are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// Acting on the frame twice does what acting on it once does.
    pub const IDEMPOTENT: Self = Self(1);
    /// The payload is encrypted from end to end.
    pub const SEALED: Self = Self(2);

    /// The union of two sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    const fn from_bits(bits: u8) -> Option<Self> {
        if bits & !3 == 0 { Some(Self(bits)) } else { None }
    }
}

/// One frame: what a stream carries.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the layout's version changes with its fields")]
pub struct Frame {
    /// What it is about.
    pub kind: Kind,
    /// How it may be treated.
    pub flags: Flags,
    /// The sender's number of the frame; what it counts is the user's business.
    pub sequence: u64,
    /// The content.
    pub payload: Bytes,
}

impl Frame {
    /// A frame without flags.
    #[must_use]
    pub fn new(kind: Kind, sequence: u64, payload: impl Into<Bytes>) -> Self {
        Self { kind, flags: Flags::NONE, sequence, payload: payload.into() }
    }

    /// The same frame with `flags` set too.
    #[must_use]
    pub fn with_flags(mut self, flags: Flags) -> Self {
        self.flags = self.flags.with(flags);
        self
    }

    /// Decodes the frame at the beginning of `bytes`, and says how many bytes it has. `None` if
    /// it is not complete yet.
    ///
    /// # Errors
    /// [`FrameError`], as soon as the bytes at hand show it.
    pub fn decode(bytes: &Bytes, max_payload: u32) -> Result<Option<(Self, usize)>, FrameError> {
        let Some((header, start)) = Header::decode(bytes, max_payload)? else { return Ok(None) };
        // Below 2^32 + HEADER_MAX, which fits into the 64 bits of a usize here.
        let end = start.saturating_add(header.length as usize);
        if bytes.len() < end {
            return Ok(None);
        }
        Ok(Some((header.frame(bytes.slice(start..end)), end)))
    }

    /// Appends the encoding. The caller keeps the payload within what the receiver accepts.
    pub fn encode(&self, out: &mut BytesMut) {
        self.encode_header(out);
        out.put_slice(&self.payload);
    }

    /// Appends the header.
    pub(crate) fn encode_header(&self, out: &mut BytesMut) {
        out.put_u8(VERSION << 4 | self.kind.0);
        out.put_u8(self.flags.0);
        put_varint(out, self.payload.len() as u64);
        put_varint(out, self.sequence);
    }
}

/// What comes before the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    kind: Kind,
    pub(crate) flags: Flags,
    pub(crate) length: u32,
    sequence: u64,
}

impl Header {
    /// The header at the beginning of `bytes` and its length, once all of it is there.
    pub(crate) fn decode(
        bytes: &[u8],
        max_payload: u32,
    ) -> Result<Option<(Self, usize)>, FrameError> {
        let Some(&first) = bytes.first() else { return Ok(None) };
        if first >> 4 != VERSION {
            return Err(FrameError::Version(first >> 4));
        }
        let Some(&flags) = bytes.get(1) else { return Ok(None) };
        let flags = Flags::from_bits(flags).ok_or(FrameError::Flags(flags))?;
        let mut at = 2;
        let Some(length) = varint(bytes, &mut at, 32)? else { return Ok(None) };
        // Checked before the sequence is there, and long before anything is allocated.
        if length > u64::from(max_payload) {
            return Err(FrameError::TooLarge { length, max: max_payload });
        }
        let length = u32::try_from(length).unwrap_or(max_payload);
        let Some(sequence) = varint(bytes, &mut at, 64)? else { return Ok(None) };
        Ok(Some((Self { kind: Kind(first & 15), flags, length, sequence }, at)))
    }

    /// The frame with this header.
    pub(crate) fn frame(self, payload: Bytes) -> Frame {
        Frame { kind: self.kind, flags: self.flags, sequence: self.sequence, payload }
    }
}

/// Appends `value` in LEB128.
pub(crate) fn put_varint(out: &mut BytesMut, mut value: u64) {
    while value >= 0x80 {
        out.put_u8(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.put_u8(value.to_le_bytes()[0]);
}

/// Reads a minimal LEB128 number of at most `bits` bits at `at`, which moves behind it. `None` if it
/// is not complete yet.
pub(crate) fn varint(bytes: &[u8], at: &mut usize, bits: u32) -> Result<Option<u64>, FrameError> {
    let mut value = 0;
    let mut shift = 0;
    for (i, &byte) in bytes.get(*at..).unwrap_or_default().iter().enumerate() {
        let low = u64::from(byte & 0x7f);
        // What would be shifted out, or beyond the type's bits, is no number of that type.
        if shift >= bits || (bits - shift < 7 && low >> (bits - shift) != 0) {
            return Err(FrameError::Varint);
        }
        value |= low << shift;
        if byte < 0x80 {
            if byte == 0 && i > 0 {
                return Err(FrameError::Varint);
            }
            *at += i + 1;
            return Ok(Some(value));
        }
        shift += 7;
    }
    if shift >= bits { Err(FrameError::Varint) } else { Ok(None) }
}

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameError {
    /// Bits that have no meaning are set: a newer peer, or not a frame.
    Flags(u8),
    /// The payload is longer than the receiver said it accepts.
    TooLarge {
        /// What the frame claims.
        length: u64,
        /// What was agreed.
        max: u32,
    },
    /// The stream ended within a frame.
    Truncated,
    /// A number is too long, or longer than it need be.
    Varint,
    /// The layout has another version.
    Version(u8),
}

impl FrameError {
    /// A stable name of the class, as in the test vectors.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Flags(_) => "flags",
            Self::TooLarge { .. } => "too-large",
            Self::Truncated => "truncated",
            Self::Varint => "varint",
            Self::Version(_) => "version",
        }
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flags(bits) => write!(f, "unknown flags {bits:#04x} in a frame"),
            Self::TooLarge { length, max } => {
                write!(f, "a frame of {length} bytes where at most {max} were agreed")
            }
            Self::Truncated => f.write_str("the stream ended within a frame"),
            Self::Varint => f.write_str("a number of a frame is not canonical"),
            Self::Version(version) => write!(f, "frames of version {version} are not known"),
        }
    }
}

impl core::error::Error for FrameError {}

//! Encoded message: its kind, its session tag and its body.

use core::fmt;

use endseal_crypto::hash;
use endseal_crypto::label::SESSION_TAG;
use endseal_keyring::device::Certificate;

use crate::fields::Fields;

/// The longest message, in bytes.
pub const MAX_MESSAGE_LEN: usize = 1 << 20;

/// The longest text that every pairwise message can hold, in bytes. A message adds a head of 33
/// bytes, a certificate, 150 bytes of Olm, 16 of padding and 8 of a MAC.
pub const MAX_PLAINTEXT_LEN: usize = MAX_MESSAGE_LEN - 512;

const VERSION: u8 = 1;
const PREKEY: u8 = 1;
const RATCHET: u8 = 2;
const GROUP: u8 = 3;

/// A message, borrowed from its encoded bytes (docs/spec/session.md, "Messages"). Its fields are
/// not authenticated yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message<'a> {
    /// Message of a session that the other side may not know yet.
    Prekey {
        /// Tag that identifies the session, if it exists.
        tag: SessionTag,
        /// Sender's certificate. It is decoded only if it differs from the one that was seen last.
        certificate: &'a [u8; Certificate::LEN],
        /// Olm pre-key message.
        body: &'a [u8],
    },
    /// Message of a session that both sides know.
    Ratchet {
        /// Tag that identifies the session.
        tag: SessionTag,
        /// Olm message.
        body: &'a [u8],
    },
    /// Group message: an `MLSMessage` (RFC 9420, section 6).
    Group(&'a [u8]),
}

impl<'a> Message<'a> {
    /// Decodes a message without allocating or verifying anything.
    ///
    /// # Errors
    /// [`MessageError`] if the bytes are too long or too short, or kind or version is unknown.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, MessageError> {
        if bytes.len() > MAX_MESSAGE_LEN {
            return Err(MessageError::TooLong);
        }
        let mut fields = Fields::new(bytes);
        if fields.byte().ok_or(MessageError::Truncated)? != VERSION {
            return Err(MessageError::Version);
        }
        let message = match fields.byte().ok_or(MessageError::Truncated)? {
            PREKEY => {
                let tag = fields.array().ok_or(MessageError::Truncated)?;
                let certificate = fields.array().ok_or(MessageError::Truncated)?;
                Self::Prekey { tag: SessionTag(*tag), certificate, body: fields.rest() }
            }
            RATCHET => {
                let tag = fields.array().ok_or(MessageError::Truncated)?;
                Self::Ratchet { tag: SessionTag(*tag), body: fields.rest() }
            }
            GROUP => Self::Group(fields.rest()),
            _ => return Err(MessageError::Kind),
        };
        if message.body().is_empty() { Err(MessageError::Truncated) } else { Ok(message) }
    }

    /// Appends the encoded message to `out`, with at most one reallocation.
    ///
    /// # Errors
    /// [`MessageError::TooLong`] if the message exceeds 1 MiB, [`MessageError::Truncated`] if the
    /// body is empty. Nothing is appended then.
    pub fn write_to(&self, out: &mut Vec<u8>) -> Result<(), MessageError> {
        if self.body().is_empty() {
            return Err(MessageError::Truncated);
        }
        if self.encoded_len() > MAX_MESSAGE_LEN {
            return Err(MessageError::TooLong);
        }
        out.reserve_exact(self.encoded_len());
        match self {
            Self::Prekey { tag, certificate, .. } => {
                out.extend_from_slice(&[VERSION, PREKEY]);
                out.extend_from_slice(&tag.0);
                out.extend_from_slice(*certificate);
            }
            Self::Ratchet { tag, .. } => {
                out.extend_from_slice(&[VERSION, RATCHET]);
                out.extend_from_slice(&tag.0);
            }
            Self::Group(_) => out.extend_from_slice(&[VERSION, GROUP]),
        }
        out.extend_from_slice(self.body());
        Ok(())
    }

    /// Returns the encoded message.
    ///
    /// # Errors
    /// [`MessageError`] if the body is empty or too long, as for [`Self::write_to`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, MessageError> {
        let mut out = Vec::new();
        self.write_to(&mut out)?;
        Ok(out)
    }

    /// Returns the length of the encoded message, in bytes.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        let header = match self {
            Self::Prekey { .. } => 2 + SessionTag::LEN + Certificate::LEN,
            Self::Ratchet { .. } => 2 + SessionTag::LEN,
            Self::Group(_) => 2,
        };
        header + self.body().len()
    }

    /// Returns the body that a [`Ratchet`](crate::Ratchet) opens; `None` for a group message.
    #[must_use]
    pub fn ratchet_body(&self) -> Option<RatchetBody<'a>> {
        match self {
            Self::Prekey { body, .. } => Some(RatchetBody::Prekey(body)),
            Self::Ratchet { body, .. } => Some(RatchetBody::Ratchet(body)),
            Self::Group(_) => None,
        }
    }

    /// Returns the session tag; `None` for a group message.
    #[must_use]
    pub fn tag(&self) -> Option<SessionTag> {
        match self {
            Self::Prekey { tag, .. } | Self::Ratchet { tag, .. } => Some(*tag),
            Self::Group(_) => None,
        }
    }

    fn body(&self) -> &'a [u8] {
        match self {
            Self::Prekey { body, .. } | Self::Ratchet { body, .. } | Self::Group(body) => body,
        }
    }
}

/// Identifier of a pairwise session: the first 8 bytes of `BLAKE3-derive("endseal/session@v1 tag",
/// identity key || base key || one-time key)` of the side that began. It is public, and
/// authenticates nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionTag([u8; Self::LEN]);

impl SessionTag {
    /// Length of a tag, in bytes.
    pub const LEN: usize = 8;

    /// Makes a tag from its bytes; all values are valid.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        Self(*bytes)
    }

    /// Computes the tag from the keys with which a session began.
    #[must_use]
    pub fn of_keys(identity: &[u8; 32], base: &[u8; 32], one_time: &[u8; 32]) -> Self {
        let mut tag = [0; Self::LEN];
        hash::derive_into(SESSION_TAG, &[identity, base, one_time], &mut tag);
        Self(tag)
    }

    /// Returns the bytes of the tag.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

impl fmt::Display for SessionTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for SessionTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionTag({self})")
    }
}

/// Error of encoding or decoding a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageError {
    /// The kind is unknown: the message was made by a newer program.
    Kind,
    /// The message is longer than 1 MiB.
    TooLong,
    /// The message ends too early, or its body is empty.
    Truncated,
    /// The version is unknown: the message was made by a newer program.
    Version,
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kind => "the kind of the message is unknown",
            Self::TooLong => "the message is longer than 1 MiB",
            Self::Truncated => "the message is incomplete",
            Self::Version => "the version of the message is unknown",
        })
    }
}

impl core::error::Error for MessageError {}

/// Body of a message that a ratchet opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "the kinds of the format")]
pub enum RatchetBody<'a> {
    /// Pre-key message: a ratchet message, with the keys from which its session was made.
    Prekey(&'a [u8]),
    /// Ratchet message without these keys.
    Ratchet(&'a [u8]),
}

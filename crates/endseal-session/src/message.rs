//! The message that travels: what it is, and whom it concerns.

use core::fmt;

use endseal_crypto::hash;
use endseal_crypto::label::SESSION_TAG;
use endseal_keyring::device::Certificate;

use crate::fields::Fields;

/// The longest message, in bytes.
pub const MAX_MESSAGE_LEN: usize = 1 << 20;

/// The longest text that a pairwise message is sure to hold, in bytes: around it are a head of 33
/// bytes, a certificate, 150 bytes of Olm, 16 of padding and 8 of a MAC.
pub const MAX_PLAINTEXT_LEN: usize = MAX_MESSAGE_LEN - 512;

const VERSION: u8 = 1;
const PREKEY: u8 = 1;
const RATCHET: u8 = 2;
const GROUP: u8 = 3;

/// A message, borrowed from the bytes that carry it (docs/spec/session.md, "Messages"). Nothing in
/// it is authenticated yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message<'a> {
    /// Of a session whose other side may not know of it yet.
    Prekey {
        /// Finds the session, if there is one.
        tag: SessionTag,
        /// The sender's certificate, to be parsed unless it is the one that was seen last.
        certificate: &'a [u8; Certificate::LEN],
        /// Olm's pre-key message.
        body: &'a [u8],
    },
    /// Of a session that both sides know.
    Ratchet {
        /// Finds the session.
        tag: SessionTag,
        /// Olm's message.
        body: &'a [u8],
    },
    /// Of a group: an `MLSMessage` (RFC 9420, section 6).
    Group(&'a [u8]),
}

impl<'a> Message<'a> {
    /// Tells what a message is. It allocates nothing and verifies nothing.
    ///
    /// # Errors
    /// [`MessageError`].
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

    /// Appends the encoding to `out`, which grows at most once.
    ///
    /// # Errors
    /// [`MessageError::TooLong`], and [`MessageError::Truncated`] if the body is empty; nothing is
    /// appended then.
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

    /// The encoding.
    ///
    /// # Errors
    /// As [`Self::write_to`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, MessageError> {
        let mut out = Vec::new();
        self.write_to(&mut out)?;
        Ok(out)
    }

    /// Length of the encoding in bytes.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        let header = match self {
            Self::Prekey { .. } => 2 + SessionTag::LEN + Certificate::LEN,
            Self::Ratchet { .. } => 2 + SessionTag::LEN,
            Self::Group(_) => 2,
        };
        header + self.body().len()
    }

    /// Returns the part that a [`Ratchet`](crate::Ratchet) opens; `None` for a group's message.
    #[must_use]
    pub fn ratchet_body(&self) -> Option<RatchetBody<'a>> {
        match self {
            Self::Prekey { body, .. } => Some(RatchetBody::Prekey(body)),
            Self::Ratchet { body, .. } => Some(RatchetBody::Ratchet(body)),
            Self::Group(_) => None,
        }
    }

    /// The tag, unless it is a group's.
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
/// identity key || base key || one-time key)` of the side that began. It is public, and no proof.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionTag([u8; Self::LEN]);

impl SessionTag {
    /// Length in bytes.
    pub const LEN: usize = 8;

    /// Takes a tag, which is any 8 bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        Self(*bytes)
    }

    /// The tag of the keys with which a session began.
    #[must_use]
    pub fn of_keys(identity: &[u8; 32], base: &[u8; 32], one_time: &[u8; 32]) -> Self {
        let mut tag = [0; Self::LEN];
        hash::derive_into(SESSION_TAG, &[identity, base, one_time], &mut tag);
        Self(tag)
    }

    /// The bytes.
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

/// Why bytes are not a message, or would not be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageError {
    /// A kind that is not known: made by a newer program.
    Kind,
    /// More than 1 MiB.
    TooLong,
    /// It ends too early.
    Truncated,
    /// A version that is not known: made by a newer program.
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

/// Part of a message that a ratchet opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "the kinds of the format")]
pub enum RatchetBody<'a> {
    /// A pre-key message: the message, and the keys from which its session was made.
    Prekey(&'a [u8]),
    /// The message alone.
    Ratchet(&'a [u8]),
}

//! Errors of a ratchet.

use core::fmt;

use crate::message::MAX_PLAINTEXT_LEN;

/// Error of opening a message. The state is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// The message is forged or damaged, or belongs to another session or to a chain that was
    /// deleted.
    Authentication,
    /// The key was used or deleted: the message came twice, or too late.
    KeyGone,
    /// The bytes are not a valid message.
    Malformed,
    /// Too many messages are missing before this one.
    TooFarAhead {
        /// Number of missing messages.
        gap: u64,
        /// Largest number of messages that may be missing.
        limit: u64,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Authentication => f.write_str("the message is forged or damaged"),
            Self::KeyGone => f.write_str("the key of the message was used or dropped"),
            Self::Malformed => f.write_str("the message is malformed"),
            Self::TooFarAhead { gap, limit } => {
                write!(f, "{gap} messages are missing before this one, and at most {limit} may be")
            }
        }
    }
}

impl core::error::Error for OpenError {}

/// Error of accepting the session of a pre-key message. The account is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcceptError {
    /// The prekey was used or deleted, or never belonged to this device.
    NoPrekey,
    /// The message could not be opened.
    Open(OpenError),
}

impl From<OpenError> for AcceptError {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

impl fmt::Display for AcceptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPrekey => f.write_str("the prekey of the message was used or dropped"),
            Self::Open(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for AcceptError {}

/// Error of beginning a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BeginError {
    /// A key of the bundle is a point of low order, which gives no secret agreement.
    LowOrder,
}

impl fmt::Display for BeginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LowOrder => f.write_str("a key of the bundle is a point of low order"),
        }
    }
}

impl core::error::Error for BeginError {}

/// Error of encrypting a message. The state is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SealError {
    /// The other side's ratchet key is a point of low order: it does not follow the protocol.
    LowOrder,
    /// The text is longer than [`MAX_PLAINTEXT_LEN`].
    TooLong,
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LowOrder => f.write_str("the other side's ratchet key is a point of low order"),
            Self::TooLong => write!(f, "the text is longer than {MAX_PLAINTEXT_LEN} bytes"),
        }
    }
}

impl core::error::Error for SealError {}

/// Error of decoding a saved state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateError {
    /// The state is damaged, or belongs to another implementation.
    Malformed,
    /// The version is unknown: the state was written by a newer program.
    Version(u8),
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("the state of the ratchet is malformed"),
            Self::Version(version) => {
                write!(f, "the state of the ratchet has the unknown version {version}")
            }
        }
    }
}

impl core::error::Error for StateError {}

/// Error for a certificate of other keys than the account's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrongCertificate;

impl fmt::Display for WrongCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the certificate is for other keys than the account's")
    }
}

impl core::error::Error for WrongCertificate {}

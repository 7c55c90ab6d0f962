//! Why a ratchet refuses.

use core::fmt;

use crate::message::MAX_PLAINTEXT_LEN;

/// Why a message was not opened. The state is what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// Forged, damaged, of another session, or of a chain that is kept no longer.
    Authentication,
    /// The key was used already or is kept no longer: the message came twice, or too late.
    KeyGone,
    /// The bytes are no message.
    Malformed,
    /// Too many messages are missing before it.
    TooFarAhead {
        /// So many are.
        gap: u64,
        /// So many may be.
        limit: u64,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Authentication => f.write_str("the message is not authentic"),
            Self::KeyGone => f.write_str("the key of the message is gone"),
            Self::Malformed => f.write_str("the message is malformed"),
            Self::TooFarAhead { gap, limit } => {
                write!(f, "{gap} messages are missing before the message, at most {limit} may be")
            }
        }
    }
}

impl core::error::Error for OpenError {}

/// Why the session of a pre-key message was not accepted. The account is what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcceptError {
    /// The prekey was used already, is kept no longer or was never ours.
    NoPrekey,
    /// The message was not opened.
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
            Self::NoPrekey => f.write_str("the prekey of the message is gone"),
            Self::Open(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for AcceptError {}

/// Why a session could not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BeginError {
    /// A key of the bundle is a point of low order, with which nothing secret can be agreed on.
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

/// Why a message was not sealed. The state is what it was.
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

/// Why bytes are not a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateError {
    /// Damaged, or the state of another engine.
    Malformed,
    /// A version that is not known: written by a newer program.
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

/// The certificate vouches for other keys than the account's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrongCertificate;

impl fmt::Display for WrongCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the certificate vouches for other keys than the account's")
    }
}

impl core::error::Error for WrongCertificate {}

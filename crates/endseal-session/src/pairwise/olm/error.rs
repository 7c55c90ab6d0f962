//! Conversion of the library's errors to those of this crate.

use vodozemac::olm::{DecryptionError, EncryptionError, SessionCreationError};

use crate::pairwise::{AcceptError, BeginError, OpenError, SealError};

impl From<DecryptionError> for OpenError {
    fn from(error: DecryptionError) -> Self {
        match error {
            // A key of low order cannot come from a sender that follows the protocol.
            DecryptionError::InvalidMAC(_) | DecryptionError::NonContributoryKey => {
                Self::Authentication
            }
            // The MAC was valid: the sender itself wrote a malformed message.
            DecryptionError::InvalidPadding(_) | DecryptionError::InvalidMACLength(..) => {
                Self::Malformed
            }
            DecryptionError::MissingMessageKey(_) => Self::KeyGone,
            DecryptionError::TooBigMessageGap(gap, limit) => Self::TooFarAhead { gap, limit },
        }
    }
}

impl From<SessionCreationError> for AcceptError {
    fn from(error: SessionCreationError) -> Self {
        match error {
            SessionCreationError::MissingOneTimeKey(_) => Self::NoPrekey,
            SessionCreationError::MismatchedIdentityKey(..)
            | SessionCreationError::NonContributoryKey => Self::Open(OpenError::Authentication),
            SessionCreationError::MismatchedSessionConfig { .. } => {
                Self::Open(OpenError::Malformed)
            }
            SessionCreationError::Decryption(error) => Self::Open(error.into()),
        }
    }
}

impl From<SessionCreationError> for BeginError {
    /// Converts the only error that beginning a session can have.
    fn from(_: SessionCreationError) -> Self {
        Self::LowOrder
    }
}

impl From<EncryptionError> for SealError {
    fn from(error: EncryptionError) -> Self {
        match error {
            EncryptionError::NonContributoryKey => Self::LowOrder,
        }
    }
}

//! Errors of the library as errors of this crate.

use vodozemac::olm::{DecryptionError, EncryptionError, SessionCreationError};

use crate::pairwise::{AcceptError, BeginError, OpenError, SealError};

impl From<DecryptionError> for OpenError {
    fn from(error: DecryptionError) -> Self {
        match error {
            // A key of low order cannot come from somebody who follows the protocol.
            DecryptionError::InvalidMAC(_) | DecryptionError::NonContributoryKey => {
                Self::Authentication
            }
            // The MAC was right: the sender itself wrote what is no message.
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
    /// The only error of a session that goes out.
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

//! Reasons for refusing a commit.

use core::fmt;

use mls_rs::error::{IntoAnyError, MlsError};

/// Reason for refusing a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// It contains a proposal of a kind that this crate does not support.
    UnknownProposal,
    /// The group would have too many members, or an added key package is too long.
    TooLarge,
    /// It is not what the persons and devices of the conversation allow, or its evidence does not
    /// justify it.
    Membership,
}

impl Refused {
    /// Returns the reason if the library's error comes from these rules.
    pub(super) fn of(error: &MlsError) -> Option<Self> {
        match error {
            MlsError::MlsRulesError(error) => error.inner_dyn_error().downcast_ref().copied(),
            _ => None,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownProposal => "a proposal is neither an add, a remove nor an update",
            Self::TooLarge => "the group would be too large",
            Self::Membership => "the commit breaks the membership rule of the conversation",
        })
    }
}

impl core::error::Error for Refused {}

impl IntoAnyError for Refused {
    fn into_dyn_error(self) -> Result<Box<dyn core::error::Error + Send + Sync>, Self> {
        Ok(self.into())
    }
}

//! Reasons for which messages are parked.

use super::parking_budget::Pool;
use crate::Failure;

/// Reason of a message that is too far ahead in its chain.
pub(super) const TOO_FAR: Reason = Reason::Unopened(Failure::TooFarAhead);

/// Reason for which a message is parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Reason {
    LaterEpoch,
    /// A failure that may pass.
    Unopened(Failure),
}

impl Reason {
    /// Returns the reason for a failure, if it may pass by itself.
    pub(super) fn of(failure: Failure) -> Option<Self> {
        let passes = matches!(
            failure,
            Failure::NoGroup | Failure::UnknownSender | Failure::TooFarAhead | Failure::Damaged
        );
        passes.then_some(Self::Unopened(failure))
    }

    /// Returns the number in the store (docs/spec/store.md, "Schema").
    pub(super) fn number(self) -> u8 {
        match self {
            Self::Unopened(Failure::NoGroup) => 2,
            Self::Unopened(Failure::UnknownSender) => 3,
            Self::Unopened(Failure::TooFarAhead) => 4,
            Self::Unopened(Failure::Damaged) => 5,
            // Other failures are not parked.
            Self::LaterEpoch | Self::Unopened(_) => 1,
        }
    }

    /// Returns the reason for a number. A message with an unknown number is tried again, like one
    /// whose state could not be decoded.
    pub(in crate::engine) fn from_number(number: u8) -> Self {
        match number {
            1 => Self::LaterEpoch,
            2 => Self::Unopened(Failure::NoGroup),
            3 => Self::Unopened(Failure::UnknownSender),
            4 => TOO_FAR,
            _ => Self::Unopened(Failure::Damaged),
        }
    }

    pub(in crate::engine) fn pool(self) -> Pool {
        match self {
            Self::Unopened(Failure::NoGroup | Failure::UnknownSender) => Pool::Unknown,
            _ => Pool::Known,
        }
    }

    /// Returns true if the reason may never pass, so that the message is deleted when it is old.
    pub(in crate::engine) fn ages(self) -> bool {
        self == TOO_FAR || self.pool() == Pool::Unknown
    }
}

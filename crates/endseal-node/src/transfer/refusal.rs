//! Reasons for which a transfer is refused.

use core::{error, fmt};

use endseal_codec::{DecodeError, Verdict};

use super::name::InvalidFileName;

/// Reason why frames are not a valid transfer (docs/spec/transfer.md, "Refusals").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Size or digest of the content differ from those that the sender stated.
    Damaged,
    /// A content frame is empty.
    Empty,
    /// There is more content than was offered or is allowed.
    Large,
    /// The message cannot be decoded.
    Message(DecodeError),
    /// The name of the file is not valid.
    Name(InvalidFileName),
    /// The frame is not allowed at this position.
    Order,
    /// The receipt names a message that does not wait for one.
    Receipt,
    /// The message belongs to another transfer.
    Transfer,
    /// The stream ended before everything was received.
    Truncated,
}

impl Refusal {
    /// Returns the stable name of the class, which the test vectors use.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Damaged => "damaged",
            Self::Empty => "empty",
            Self::Large => "large",
            Self::Message(_) => "message",
            Self::Name(_) => "name",
            Self::Order => "order",
            Self::Receipt => "receipt",
            Self::Transfer => "transfer",
            Self::Truncated => "truncated",
        }
    }

    /// Returns the answer of a receiver. `None` if the sender violated the protocol; the stream is
    /// then reset without an answer.
    #[must_use]
    pub const fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Damaged => Some(Verdict::DAMAGED),
            Self::Large => Some(Verdict::TOO_LARGE),
            Self::Name(_) => Some(Verdict::REFUSED),
            _ => None,
        }
    }
}

impl From<DecodeError> for Refusal {
    fn from(error: DecodeError) -> Self {
        Self::Message(error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Damaged => "the content is not what was sent",
            Self::Empty => "a content frame is empty",
            Self::Large => "more content than was offered or is allowed",
            Self::Message(_) => "a malformed message",
            Self::Name(_) => "the name of the file is not valid",
            Self::Order => "a frame is not allowed at this position",
            Self::Receipt => "a receipt for a message that was not sent",
            Self::Transfer => "a message of another transfer",
            Self::Truncated => "the stream ended before everything was received",
        })
    }
}

impl error::Error for Refusal {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Message(error) => Some(error),
            Self::Name(error) => Some(error),
            _ => None,
        }
    }
}

//! Faults of a transfer for which an end refuses it.

use core::{error, fmt};

use endseal_codec::{DecodeError, Verdict};

use super::name::InvalidFileName;

/// Why frames are not a transfer (docs/spec/transfer.md, "Refusals").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Size or digest differ from what was sent.
    Damaged,
    /// A frame of content without content.
    Empty,
    /// More content than was offered or is allowed.
    Large,
    /// The codec refuses the message.
    Message(DecodeError),
    /// The name of the file is none.
    Name(InvalidFileName),
    /// A frame that may not stand there.
    Order,
    /// A receipt for a message that does not wait for one.
    Receipt,
    /// A message of another transfer.
    Transfer,
    /// The stream ended before all was there.
    Truncated,
}

impl Refusal {
    /// A stable name of the class, as in the test vectors.
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

    /// Returns the answer of a receiver. `None` if the sender does not keep to the protocol, and
    /// the stream is given up instead.
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
            Self::Empty => "a frame of content without content",
            Self::Large => "more content than was offered or is allowed",
            Self::Message(_) => "a malformed message",
            Self::Name(_) => "the file has no usable name",
            Self::Order => "a frame that may not stand there",
            Self::Receipt => "a receipt for a message that was not sent",
            Self::Transfer => "a message of another transfer",
            Self::Truncated => "the stream ended before all was there",
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

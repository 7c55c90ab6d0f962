//! The node's side of the delivery protocol: puts and subscriptions.

mod puts;
mod subscription;

pub use puts::{Puts, Settled};
pub use subscription::{Arrival, Subscription};

use core::fmt;

/// The hub does not keep to the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HubFault {
    /// The payload could not be decoded as an answer.
    Answer,
    /// An answer that does not belong to the exchange.
    Unexpected,
    /// A frame that was not sent is stored or refused.
    Sequence,
    /// A position that is not behind the one before.
    Position,
    /// The hub sent more frames or bytes than the credit allows.
    Credit,
}

impl fmt::Display for HubFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Answer => "the hub sent a payload that is not an answer",
            Self::Unexpected => "the hub sent an answer that does not belong to this exchange",
            Self::Sequence => "the hub confirmed or refused a frame that was not sent",
            Self::Position => "the hub delivered frames out of order",
            Self::Credit => "the hub delivered more frames or bytes than it was permitted",
        })
    }
}

impl core::error::Error for HubFault {}

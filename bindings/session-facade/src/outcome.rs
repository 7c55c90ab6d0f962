//! Results of a batch.

use endseal_session as session;
use endseal_session::{Envelope, Failure, Outcome};

use crate::address::DecodedAddresses;
use crate::messages::{IncomingMessage, MessageOrigin};

/// Result of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "libraries of other languages mirror it")]
pub enum MessageOutcome {
    /// Opened now: it is in the inbox.
    Delivered {
        /// Number in the inbox.
        number: u64,
    },
    /// Delivered before. It may have been consumed since.
    AlreadyDelivered {
        /// Number in the inbox.
        number: u64,
    },
    /// Kept until a later epoch of its group has started.
    Buffered {
        /// Number of the epoch.
        epoch: u64,
    },
    /// Kept for a reason that may pass, and tried again when its conversation advances.
    Parked {
        /// Code of the reason (docs/spec/session.md, "What a receiver answers").
        code: String,
    },
    /// Not opened, and nothing was stored.
    Failed {
        /// Code of the reason (docs/spec/session.md, "What a receiver answers").
        code: String,
    },
}

impl MessageOutcome {
    pub(crate) fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Delivered(number) => Self::Delivered { number },
            Outcome::AlreadyDelivered(number) => Self::AlreadyDelivered { number },
            Outcome::Buffered(epoch) => Self::Buffered { epoch },
            Outcome::Parked(failure) => Self::Parked { code: failure.code().to_owned() },
            Outcome::Failed(failure) => Self::Failed { code: failure.code().to_owned() },
            _ => unreachable!("an outcome has one of five forms"),
        }
    }
}

/// A message that was kept by an earlier call, with its final result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "libraries of other languages mirror it")]
pub struct ReleasedMessage {
    /// Message id under which it was delivered.
    pub id: Vec<u8>,
    /// Final result.
    pub outcome: MessageOutcome,
}

impl ReleasedMessage {
    pub(crate) fn all(released: Vec<session::Released>) -> Vec<Self> {
        let of =
            |it: session::Released| Self { id: it.id, outcome: MessageOutcome::of(it.outcome) };
        released.into_iter().map(of).collect()
    }
}

/// Results of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "libraries of other languages mirror it")]
pub struct BatchResult {
    /// Results of the messages, in their order.
    pub outcomes: Vec<MessageOutcome>,
    /// Messages of earlier calls that have their final result now.
    pub released: Vec<ReleasedMessage>,
    /// Number of transactions that were committed.
    pub commits: u32,
}

/// Messages as the engine takes them. One whose address is no address is refused beside them.
pub(crate) struct Envelopes<'a> {
    pub(crate) valid: Vec<Envelope<'a>>,
    is_valid: Vec<bool>,
}

impl<'a> Envelopes<'a> {
    pub(crate) fn of(messages: &'a [IncomingMessage]) -> Self {
        let mut addresses = DecodedAddresses::default();
        let mut valid = Vec::with_capacity(messages.len());
        let mut is_valid = Vec::with_capacity(messages.len());
        for message in messages {
            let envelope = match &message.origin {
                MessageOrigin::Group { id } => {
                    Some(Envelope::from_group(&message.id, id, &message.body))
                }
                MessageOrigin::Device { address } => addresses
                    .get(address)
                    .map(|sender| Envelope::from_device(&message.id, sender, &message.body)),
            };
            is_valid.push(envelope.is_some());
            valid.extend(envelope);
        }
        Self { valid, is_valid }
    }

    /// Returns the results of all messages, from those of the valid ones.
    pub(crate) fn outcomes(
        &self,
        outcomes: impl IntoIterator<Item = Outcome>,
    ) -> Vec<MessageOutcome> {
        let mut outcomes = outcomes.into_iter();
        let malformed = Outcome::Failed(Failure::Malformed);
        let one = |is_valid: &bool| match is_valid {
            true => MessageOutcome::of(outcomes.next().unwrap_or(malformed)),
            false => MessageOutcome::of(malformed),
        };
        self.is_valid.iter().map(one).collect()
    }
}

//! Facts about an envelope that are authentic once its first block was verified.

use endseal_crypto::ed25519;

use crate::prelude::Prelude;
use crate::suite::Suite;

/// Sender, message id, time and suite of an envelope whose first block was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageInfo {
    /// Suite of the envelope. [`Policy::suites`](crate::Policy::suites) refuses others.
    pub suite: Suite,
    /// Key that sealed and signed it. The caller MUST decide whether it knows that key.
    pub sender: ed25519::PublicKey,
    /// Random name of this message, chosen by the sender.
    pub message_id: [u8; 16],
    /// The sender's claim of the time, in milliseconds since 1970-01-01T00:00:00Z; 0 if not stated.
    pub time: u64,
}

impl MessageInfo {
    pub(crate) fn new(suite: Suite, sender: ed25519::PublicKey, prelude: &Prelude) -> Self {
        Self { suite, sender, message_id: prelude.message_id, time: prelude.time }
    }
}

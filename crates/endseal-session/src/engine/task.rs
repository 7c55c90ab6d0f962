//! One message on its way through the engine, and what came out of it.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::{Address, Certificate};
use endseal_store::Seen;

use super::body_digest::BodyDigest;
use super::parking_reason::Reason;
use crate::{Failure, Outcome};

/// A message to be opened.
pub(super) struct Task<'e> {
    /// Its place in the batch.
    pub(super) index: usize,
    pub(super) id: &'e [u8],
    /// Sender that the envelope names; `None` in a group.
    pub(super) sender: Option<Address>,
    pub(super) body: &'e [u8],
    /// Earlier delivery of its id, if the store has one.
    pub(super) seen: Option<Seen>,
}

/// Result of one message.
pub(super) struct Entry<'e> {
    /// The message of the batch that led to this: itself, or the one that let it out of the buffer.
    pub(super) index: usize,
    pub(super) id: Cow<'e, [u8]>,
    /// True if it was parked.
    pub(super) was_parked: bool,
    /// True if it takes its id from a parked message.
    pub(super) replaces: bool,
    /// Set if it decided the pending commit of this device: true if that was accepted.
    pub(super) decided: Option<bool>,
    pub(super) result: Opened<'e>,
}

impl<'e> Entry<'e> {
    /// The result of a message of the batch.
    pub(super) fn new(task: &Task<'e>, result: Opened<'e>) -> Self {
        let (index, id) = (task.index, Cow::Borrowed(task.id));
        Self { index, id, was_parked: false, replaces: false, decided: None, result }
    }

    /// The result of a message that was parked, and is parked no longer.
    pub(super) fn unparked(index: usize, id: Vec<u8>, result: Opened<'e>) -> Self {
        Self { index, id: Cow::Owned(id), was_parked: true, replaces: false, decided: None, result }
    }
}

/// See [`Entry`].
pub(super) enum Opened<'e> {
    /// A text, or a change of a group, for the inbox.
    Delivery(Delivery),
    /// In the store already, under this number.
    Known(u64),
    /// Delivered in this batch already, as the message with this index.
    Repeated(usize),
    /// To be kept until it can be opened.
    Park { device: u32, reason: Reason, epoch: u64, body: Cow<'e, [u8]> },
    /// It is parked already.
    Waits(Outcome),
    /// Nothing changed.
    Failed(Failure),
}

/// Message for the inbox.
pub(super) struct Delivery {
    pub(super) sender: Address,
    pub(super) kind: u8,
    pub(super) digest: BodyDigest,
    pub(super) plaintext: Zeroizing<Vec<u8>>,
    /// Members that a change has added, with their certificates.
    pub(super) added: Vec<(Address, [u8; Certificate::LEN])>,
}

//! Message of a batch while it is processed, and its result.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::{Address, Certificate};
use endseal_store::Seen;

use super::body_digest::BodyDigest;
use super::parking_reason::Reason;
use crate::{Failure, Outcome};

/// Message to be opened.
pub(super) struct Task<'e> {
    /// Index in the batch.
    pub(super) index: usize,
    pub(super) id: &'e [u8],
    /// Sender that the envelope names, unauthenticated; `None` in a group.
    pub(super) sender: Option<Address>,
    pub(super) body: &'e [u8],
    /// Earlier delivery of the same id, if the store has one.
    pub(super) seen: Option<Seen>,
}

/// Result of one message, with its id.
pub(super) struct Entry<'e> {
    /// Index of the message itself, or of the batch message that released it from parking.
    pub(super) index: usize,
    pub(super) id: Cow<'e, [u8]>,
    /// True if the message was parked.
    pub(super) was_parked: bool,
    /// True if a parked message with the same id must be deleted.
    pub(super) replaces: bool,
    /// Set if the message decided this device's pending commit: true if the commit was accepted.
    pub(super) decided: Option<bool>,
    pub(super) result: Opened<'e>,
}

impl<'e> Entry<'e> {
    /// Makes the result of a message of the batch.
    pub(super) fn new(task: &Task<'e>, result: Opened<'e>) -> Self {
        let (index, id) = (task.index, Cow::Borrowed(task.id));
        Self { index, id, was_parked: false, replaces: false, decided: None, result }
    }

    /// Makes the result of a message that is no longer parked.
    pub(super) fn unparked(index: usize, id: Vec<u8>, result: Opened<'e>) -> Self {
        Self { index, id: Cow::Owned(id), was_parked: true, replaces: false, decided: None, result }
    }
}

/// Result of opening one message.
pub(super) enum Opened<'e> {
    /// A text or a group change for the inbox.
    Delivery(Delivery),
    /// Its id was delivered before, under this inbox number.
    Known(u64),
    /// Its id was delivered earlier in this batch, by the message with this index.
    Repeated(usize),
    /// It must be parked until it can be opened.
    Park { device: u32, reason: Reason, epoch: u64, body: Cow<'e, [u8]> },
    /// It is parked already.
    Waits(Outcome),
    /// It was refused, and no state has changed.
    Failed(Failure),
}

/// Decrypted message for the inbox.
pub(super) struct Delivery {
    pub(super) sender: Address,
    pub(super) kind: u8,
    pub(super) digest: BodyDigest,
    pub(super) plaintext: Zeroizing<Vec<u8>>,
    /// Members that a change has added, with their certificates.
    pub(super) added: Vec<(Address, [u8; Certificate::LEN])>,
}

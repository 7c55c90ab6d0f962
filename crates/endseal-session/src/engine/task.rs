//! One message on its way through the engine, and what came out of it.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use endseal_crypto::secret::Zeroizing;
use endseal_store::Seen;

use super::body_digest::BodyDigest;
use crate::{Address, Failure};

/// A message to be opened.
pub(super) struct Task<'e> {
    /// Its place in the batch.
    pub(super) index: usize,
    pub(super) id: &'e [u8],
    /// Who it says that it is from; `None` in a group.
    pub(super) sender: Option<Address>,
    pub(super) body: &'e [u8],
    /// What the store knows of its id.
    pub(super) seen: Option<Seen>,
}

/// What came out of one message.
pub(super) struct Entry<'e> {
    /// The message of the batch that led to this: itself, or the one that let it out of the buffer.
    pub(super) index: usize,
    pub(super) id: Cow<'e, [u8]>,
    /// The epoch that it waited for, if it was in the buffer.
    pub(super) waited_for: Option<u64>,
    pub(super) result: Opened<'e>,
}

/// See [`Entry`].
pub(super) enum Opened<'e> {
    /// A text, or a change of a group, for the inbox.
    Delivery(Delivery),
    /// In the store already, under this number.
    Known(u64),
    /// Delivered in this batch already, as the message with this index.
    Repeated(usize),
    /// To be kept until its epoch comes.
    Early { epoch: u64, body: Cow<'e, [u8]> },
    /// It is kept for its epoch already.
    Waits(u64),
    /// Nothing changed.
    Failed(Failure),
}

/// What the inbox gets.
pub(super) struct Delivery {
    pub(super) sender: Address,
    pub(super) kind: u8,
    pub(super) digest: BodyDigest,
    pub(super) plaintext: Zeroizing<Vec<u8>>,
}

//! A message as it was delivered, with what is said about it outside.

use endseal_keyring::device::Address;

/// Longest message id and longest name of a queue, in bytes.
pub const MAX_ID_LEN: usize = 64;

/// A delivered message. Nothing of it is trusted but what the session proves.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Envelope<'a> {
    /// The id under which it is delivered, 1 to 64 bytes: the same each time it is delivered.
    pub id: &'a [u8],
    /// Where it says that it is from.
    pub origin: Origin<'a>,
    /// The ciphertext (docs/spec/session.md, "Messages").
    pub body: &'a [u8],
    /// Where the queue stands when this message is done with; empty where there is no queue.
    pub position: &'a [u8],
}

impl<'a> Envelope<'a> {
    /// A message from a device.
    #[must_use]
    pub fn from_device(id: &'a [u8], sender: Address, body: &'a [u8]) -> Self {
        Self { id, origin: Origin::Device(sender), body, position: &[] }
    }

    /// A message of a group.
    #[must_use]
    pub fn from_group(id: &'a [u8], group: &'a [u8], body: &'a [u8]) -> Self {
        Self { id, origin: Origin::Group(group), body, position: &[] }
    }

    /// The same message at a position of the queue (see
    /// [`BatchOptions::queue`](crate::BatchOptions)).
    #[must_use]
    pub fn at(self, position: &'a [u8]) -> Self {
        Self { position, ..self }
    }
}

/// Where a message says that it is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin<'a> {
    /// One device of one identity.
    Device(Address),
    /// A group, by its id.
    Group(&'a [u8]),
}

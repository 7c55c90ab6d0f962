//! Delivered message, with its unauthenticated metadata.

use endseal_keyring::device::Address;

/// Longest message id and longest queue position, in bytes. Queue names have the same limit.
pub const MAX_ID_LEN: usize = 64;

/// A delivered message. Its metadata is not trusted; the session authenticates the sender.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Envelope<'a> {
    /// Message id of 1 to 64 bytes from the delivery service; the same for each delivery of a
    /// message.
    pub id: &'a [u8],
    /// Claimed origin of the message.
    pub origin: Origin<'a>,
    /// Ciphertext (docs/spec/session.md, "Messages").
    pub body: &'a [u8],
    /// Position of the delivery queue after this message was processed, up to 64 bytes; empty
    /// without a queue.
    pub position: &'a [u8],
}

impl<'a> Envelope<'a> {
    /// Makes the envelope of a message from a device.
    #[must_use]
    pub fn from_device(id: &'a [u8], sender: Address, body: &'a [u8]) -> Self {
        Self { id, origin: Origin::Device(sender), body, position: &[] }
    }

    /// Makes the envelope of a message in a group.
    #[must_use]
    pub fn from_group(id: &'a [u8], group: &'a [u8], body: &'a [u8]) -> Self {
        Self { id, origin: Origin::Group(group), body, position: &[] }
    }

    /// Sets the position of the delivery queue after this message (see
    /// [`BatchOptions::queue`](crate::BatchOptions)).
    #[must_use]
    pub fn at(self, position: &'a [u8]) -> Self {
        Self { position, ..self }
    }
}

/// Claimed origin of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin<'a> {
    /// A device, by its address.
    Device(Address),
    /// A group, by its id.
    Group(&'a [u8]),
}

//! Parts of an archive in frames (docs/spec/archive.md, "Over a hub").

use endseal_codec::{Codec as _, Message, Scheme, Sealed, SealedMessage};
use endseal_delivery::stored_limits;

/// Length of the id of an archive.
const ID_LEN: usize = 16;
/// Length of the head of a part: id (16) || index (4) || number of parts (4).
const HEAD_LEN: usize = ID_LEN + 8;

/// A part of an archive. Nothing in it is authenticated until the whole archive was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArchivePart<'a> {
    /// Random id, the same for all parts of an archive.
    pub(super) id: [u8; ID_LEN],
    /// Place of the part, from 0.
    pub(super) index: u32,
    /// Number of parts.
    pub(super) count: u32,
    pub(super) bytes: &'a [u8],
}

impl<'a> ArchivePart<'a> {
    /// Reads the payload of a frame. `None` if it has another form.
    pub(super) fn read(payload: &'a [u8]) -> Option<Self> {
        let sealed = SealedMessage::view(payload, stored_limits()).ok()?;
        let head: &[u8; HEAD_LEN] = sealed.context.try_into().ok()?;
        let (id, rest) = head.split_first_chunk()?;
        let (index, count) = rest.split_first_chunk()?;
        let index = u32::from_le_bytes(*index);
        let count = u32::from_le_bytes(count.try_into().ok()?);
        let is_part = sealed.scheme == Scheme::ENVELOPE && index < count;
        is_part.then_some(Self { id: *id, index, count, bytes: sealed.ciphertext })
    }

    /// Encodes head and bytes, as they wait in the outbox.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        [&self.id[..], &self.index.to_le_bytes(), &self.count.to_le_bytes(), self.bytes].concat()
    }

    /// Makes the payload for a part from the outbox.
    pub(super) fn seal(mut part: Vec<u8>) -> Sealed<Message> {
        let bytes = part.split_off(HEAD_LEN.min(part.len()));
        Sealed::from_message(SealedMessage {
            scheme: Scheme::ENVELOPE,
            context: part.into(),
            ciphertext: bytes.into(),
            ..SealedMessage::default()
        })
    }
}

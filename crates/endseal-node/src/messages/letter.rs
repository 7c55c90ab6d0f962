//! Letters: envelopes to the members of a group (docs/spec/letter.md).

use endseal_codec::{Codec as _, Message, Scheme, Sealed, SealedMessage};
use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::label;
use endseal_delivery::stored_limits;
use endseal_keyring::device::Address;
use endseal_keyring::roster::{GroupId, RosterDigest};

use super::payload::{ADDRESS_LEN, address, address_bytes};

/// Length of a [`LetterHead`].
const HEAD_LEN: usize = ADDRESS_LEN + GroupId::LEN + 8;
/// Length of the id of a letter.
pub(super) const ID_LEN: usize = 32 + 16;

/// Claims of a letter, which its envelope binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LetterHead {
    /// Device that wrote it.
    pub sender: Address,
    /// The group.
    pub group: GroupId,
    /// Epoch of the roster whose members can open it.
    pub epoch: u64,
}

impl LetterHead {
    /// The claims of a letter from `sender` to a group in an epoch.
    #[must_use]
    pub fn new(sender: Address, group: GroupId, epoch: u64) -> Self {
        Self { sender, group, epoch }
    }

    /// Address of the sender (36) || group (16) || epoch (8).
    fn to_bytes(self) -> [u8; HEAD_LEN] {
        let mut bytes = [0; HEAD_LEN];
        bytes[..ADDRESS_LEN].copy_from_slice(&address_bytes(&self.sender));
        bytes[ADDRESS_LEN..HEAD_LEN - 8].copy_from_slice(self.group.as_bytes());
        bytes[HEAD_LEN - 8..].copy_from_slice(&self.epoch.to_le_bytes());
        bytes
    }

    fn read(bytes: &[u8; HEAD_LEN]) -> Option<Self> {
        let (sender, rest) = bytes.split_first_chunk::<ADDRESS_LEN>()?;
        let (group, epoch) = rest.split_first_chunk::<{ GroupId::LEN }>()?;
        Some(Self {
            sender: address(sender)?,
            group: GroupId::from_bytes(*group),
            epoch: u64::from_le_bytes(epoch.try_into().ok()?),
        })
    }

    /// Context of the envelope: "endseal/letter@v1 envelope" || 0x00 || head (60) || digest of the
    /// roster (32).
    #[must_use]
    pub fn context(&self, roster: &RosterDigest) -> Vec<u8> {
        let label = label::LETTER_ENVELOPE.as_str().as_bytes();
        [label, &[0], &self.to_bytes(), roster.as_bytes()].concat()
    }
}

/// A letter without its slot. Nothing of it is authenticated yet.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Letter<'a> {
    /// Its claims.
    pub head: LetterHead,
    /// The detached envelope.
    pub envelope: &'a [u8],
}

impl<'a> Letter<'a> {
    /// Reads the payload of a frame; `None` if it is no letter.
    #[must_use]
    pub fn read(payload: &'a [u8]) -> Option<Self> {
        let sealed = SealedMessage::view(payload, stored_limits()).ok()?;
        if sealed.scheme != Scheme::ENVELOPE {
            return None;
        }
        let head = LetterHead::read(sealed.context.try_into().ok()?)?;
        Some(Self { head, envelope: sealed.ciphertext })
    }

    /// The payload of a letter with a detached envelope.
    #[must_use]
    pub fn seal(head: LetterHead, envelope: Vec<u8>) -> Sealed<Message> {
        Sealed::from_message(SealedMessage {
            scheme: Scheme::ENVELOPE,
            context: head.to_bytes()[..].into(),
            ciphertext: envelope.into(),
            ..SealedMessage::default()
        })
    }

    /// The id under which a letter is delivered once, by whichever peer: key of the device that
    /// signed it (32) || message id of the envelope (16).
    #[must_use]
    pub fn id(device: &PublicKey, message_id: &[u8; 16]) -> [u8; ID_LEN] {
        let mut id = [0; ID_LEN];
        id[..32].copy_from_slice(device.as_bytes());
        id[32..].copy_from_slice(message_id);
        id
    }
}

//! Payloads of frames (docs/spec/node.md, "Frames").

use endseal_codec::{Codec as _, Message, Scheme, Sealed, SealedMessage};
use endseal_crypto::ed25519::PublicKey;
use endseal_delivery::stored_limits;
use endseal_keyring::device::{Address, DeviceId};

/// Length of an encoded address: identity (32) || number of the device (4).
pub(super) const ADDRESS_LEN: usize = 32 + 4;

/// Decodes an address. Returns `None` if the key or the device number is invalid.
pub(super) fn address(bytes: &[u8; ADDRESS_LEN]) -> Option<Address> {
    let (identity, device) = bytes.split_first_chunk()?;
    let identity = PublicKey::from_bytes(identity).ok()?;
    let device = DeviceId::new(u32::from_le_bytes(device.try_into().ok()?))?;
    Some(Address { identity, device })
}

/// Encodes an address: identity (32) || number of the device (4), little-endian.
pub(super) fn address_bytes(address: &Address) -> [u8; ADDRESS_LEN] {
    let mut bytes = [0; ADDRESS_LEN];
    let (identity, device) = bytes.split_at_mut(32);
    identity.copy_from_slice(address.identity.as_bytes());
    device.copy_from_slice(&address.device.number().to_le_bytes());
    bytes
}

/// Payload of a frame with a message of a session. Nothing in it is trusted until the session has
/// authenticated it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Payload<'a> {
    /// Address that the sender claims, not yet decoded.
    pub context: &'a [u8; ADDRESS_LEN],
    /// Encrypted message of a session.
    pub ciphertext: &'a [u8],
}

impl<'a> Payload<'a> {
    /// Parses a payload. Returns `None` if it has another form. The address is not decoded.
    #[must_use]
    pub fn read(payload: &'a [u8]) -> Option<Self> {
        let sealed = SealedMessage::view(payload, stored_limits()).ok()?;
        let context = sealed.context.try_into().ok()?;
        let ciphertext = sealed.ciphertext;
        (sealed.scheme == Scheme::PAIRWISE).then_some(Self { context, ciphertext })
    }

    /// Decodes the address that the sender claims. Returns `None` if it is invalid.
    #[must_use]
    pub fn sender(&self) -> Option<Address> {
        address(self.context)
    }

    /// Makes the payload for a message of a session with a device of `sender`.
    #[must_use]
    pub fn seal(sender: &Address, ciphertext: Vec<u8>) -> Sealed<Message> {
        Sealed::from_message(SealedMessage {
            scheme: Scheme::PAIRWISE,
            context: address_bytes(sender)[..].into(),
            ciphertext: ciphertext.into(),
            ..SealedMessage::default()
        })
    }
}

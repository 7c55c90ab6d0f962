//! Encoding of a device's address in records and archives.

use endseal_crypto::ed25519::PublicKey;
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

//! Public keys, typed and shown.

use endseal_nostr::entity::{Entity, MAX_DATA};
use endseal_nostr::key::{self, BECH32_LEN, HEX_LEN, PublicKey};

use crate::failure::Failure;
use crate::typed::shown;

/// Reads `npub1...`, `nprofile1...`, either of them with `nostr:`, or 64 hexadecimal digits.
pub(super) fn read(text: &str) -> Result<PublicKey, Failure> {
    let text = text.trim();
    if text.len() == HEX_LEN && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        // They are not repeated: it may be a secret key.
        return key::public_from_hex(text)
            .map_err(|error| Failure::usage("these digits are no public key").because(&error));
    }
    let mut buffer = [0; MAX_DATA];
    match entity(text, &mut buffer) {
        Ok(Entity::PublicKey(key)) => Ok(key),
        Ok(Entity::Profile(profile)) => Ok(profile.public_key),
        Ok(_) => Err(Failure::usage(format!("'{}' is no public key", shown(text)))),
        Err(error) => {
            Err(Failure::usage(format!("'{}' is no public key", shown(text))).because(&error))
        }
    }
}

/// Reads a text of NIP-19, with `nostr:` or without.
pub(super) fn entity<'b>(
    text: &str,
    buffer: &'b mut [u8],
) -> Result<Entity<'b>, endseal_nostr::entity::EntityError> {
    match text.contains(':') {
        true => Entity::decode_uri(text, buffer),
        false => Entity::decode(text, buffer),
    }
}

/// The key as `npub1...`.
pub(super) fn npub(key: &PublicKey) -> String {
    let mut out = [0; BECH32_LEN];
    key::public_to_npub(key, &mut out).unwrap_or_default().to_owned()
}

/// Bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

//! Public keys, typed and shown.

use endseal_nostr::entity::{Entity, MAX_DATA};
use endseal_nostr::key::{self, BECH32_LEN, HEX_LEN, PublicKey};

use crate::failure::Failure;
use crate::typed::{may_be_key, shown};

/// Reads `npub1...`, `nprofile1...`, either of them with `nostr:`, or 64 hexadecimal digits.
pub(in crate::cmd) fn read(text: &str) -> Result<PublicKey, Failure> {
    let text = text.trim();
    let no_key = || {
        // It may be a secret key, and is not repeated then.
        let text = if may_be_key(text) { "this".to_owned() } else { format!("'{}'", shown(text)) };
        Failure::usage(format!("{text} is no public key"))
    };
    if text.len() == HEX_LEN && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return key::public_from_hex(text).map_err(|error| no_key().because(&error));
    }
    let mut buffer = [0; MAX_DATA];
    match entity(text, &mut buffer) {
        Ok(Entity::PublicKey(key)) => Ok(key),
        Ok(Entity::Profile(profile)) => Ok(profile.public_key),
        Ok(_) => Err(no_key()),
        Err(error) => Err(no_key().because(&error)),
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
pub(in crate::cmd) fn npub(key: &PublicKey) -> String {
    let mut out = [0; BECH32_LEN];
    key::public_to_npub(key, &mut out).unwrap_or_default().to_owned()
}

/// The key with those hexadecimal digits as `npub1...`; the text itself if it is no key.
pub(in crate::cmd) fn npub_of(hex: &str) -> String {
    key::public_from_hex(hex).map_or_else(|_| hex.to_owned(), |key| npub(&key))
}

/// Bytes in hexadecimal digits.
pub(in crate::cmd) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

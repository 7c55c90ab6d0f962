//! Parsing and formatting of public keys.

use endseal_nostr::entity::{Entity, MAX_DATA};
use endseal_nostr::key::{self, BECH32_LEN, HEX_LEN, PublicKey};

use crate::failure::Failure;
use crate::typed::{may_be_key, shown};

/// Parses `npub1...` or `nprofile1...`, with or without `nostr:`, or 64 hexadecimal digits.
pub(in crate::cmd) fn read(text: &str) -> Result<PublicKey, Failure> {
    let text = text.trim();
    let no_key = || {
        // It may be a secret key, which must not be shown.
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

/// Decodes a NIP-19 text, with or without `nostr:`.
pub(super) fn entity<'b>(
    text: &str,
    buffer: &'b mut [u8],
) -> Result<Entity<'b>, endseal_nostr::entity::EntityError> {
    match text.contains(':') {
        true => Entity::decode_uri(text, buffer),
        false => Entity::decode(text, buffer),
    }
}

/// Formats a key as `npub1...`.
pub(in crate::cmd) fn npub(key: &PublicKey) -> String {
    let mut out = [0; BECH32_LEN];
    key::public_to_npub(key, &mut out).unwrap_or_default().to_owned()
}

/// Formats a key in hexadecimal digits as `npub1...`. Returns the text itself if it is not a key.
pub(in crate::cmd) fn npub_of(hex: &str) -> String {
    key::public_from_hex(hex).map_or_else(|_| hex.to_owned(), |key| npub(&key))
}

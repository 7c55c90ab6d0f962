//! Keys: parsed, derived.

use endseal_crypto::secp256k1::{PublicKey, SecretKey};
use endseal_nostr::nip44::Conversation;

use crate::platform::Platform;
use crate::status::Failure;

pub(crate) fn secret(bytes: &[u8; 32]) -> Result<SecretKey, Failure> {
    SecretKey::from_bytes(bytes).map_err(|_| Failure::SecretKey)
}

pub(crate) fn public(bytes: &[u8; 32]) -> Result<PublicKey, Failure> {
    PublicKey::from_bytes(bytes).map_err(|_| Failure::PublicKey)
}

/// Writes the public key of a secret key.
pub(crate) fn public_of(
    platform: &mut impl Platform,
    own: &[u8; 32],
    out: &mut [u8; 32],
) -> Result<(), Failure> {
    platform.between_steps();
    *out = secret(own)?.public_key().to_bytes();
    platform.between_steps();
    Ok(())
}

/// Writes the key of all NIP-44 payloads between two keys.
pub(crate) fn conversation(
    platform: &mut impl Platform,
    own: &[u8; 32],
    peer: &[u8; 32],
    out: &mut [u8; 32],
) -> Result<(), Failure> {
    platform.between_steps();
    let own = secret(own)?;
    let key = Conversation::derive_key(&own, peer).map_err(|_| Failure::PublicKey)?;
    *out = *key.expose_secret();
    platform.between_steps();
    Ok(())
}

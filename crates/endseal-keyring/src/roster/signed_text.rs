//! Signatures in the lines of a roster, and the messages that are signed.

use alloc::string::String;
use alloc::vec::Vec;

use base64ct::{Base64, Encoding as _};
use endseal_crypto::ed25519::{PublicKey, Signature};
use endseal_crypto::label::Label;
use endseal_crypto::{hash, label};

use super::GroupId;

/// Returns the message that the signer of a roster signs: `"endseal/roster@v1 signature" || 0x00 ||
/// BLAKE3(body)`.
pub(super) fn roster_message(body: &str) -> Vec<u8> {
    let digest = hash::digest(body.as_bytes());
    [label::ROSTER_SIGNATURE.as_str().as_bytes(), &[0], &digest].concat()
}

/// Returns the message by which an owner gives `key` rights from an epoch on: `label || 0x00 || id
/// || le64(epoch) || key`.
pub(super) fn grant_message(label: Label, id: &GroupId, epoch: u64, key: &PublicKey) -> Vec<u8> {
    [label.as_str().as_bytes(), &[0], id.as_bytes(), &epoch.to_le_bytes(), key.as_bytes()].concat()
}

/// Decodes a signature in base64; `None` if it is not 64 bytes in the one encoding that they have.
pub(super) fn decode(text: &str) -> Option<Signature> {
    let mut signature = [0; Signature::LEN];
    let len = Base64::decode(text, &mut signature).ok()?.len();
    (len == Signature::LEN).then(|| Signature::from_bytes(&signature))
}

/// Encodes a signature in base64.
pub(super) fn encode(signature: &Signature) -> String {
    Base64::encode_string(signature.as_bytes())
}

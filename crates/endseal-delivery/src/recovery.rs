//! Proof of a root key, by which a person gets their own record from a hub.

use alloc::vec::Vec;

use endseal_crypto::ed25519::{Signature, SigningKey, VerifyingKey};
use endseal_crypto::label;
use endseal_crypto::peer_id::PeerId;

/// Signature of a root over `label || hub || peer`: the peer of this connection may have the record
/// of the root's person from this hub (docs/spec/delivery.md, "recover").
///
/// Another peer cannot use it, and another hub does not accept it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryProof([u8; Signature::LEN]);

impl RecoveryProof {
    /// Length of a proof in bytes.
    pub const LEN: usize = Signature::LEN;

    /// Signs with the root's key for a device and the hub to which it is connected.
    #[must_use]
    pub fn sign(root: &SigningKey, hub: &PeerId, peer: &PeerId) -> Self {
        Self(*root.sign(&message(hub, peer)).as_bytes())
    }

    /// A proof as it was received, which [`Self::verify`] must check.
    #[must_use]
    pub const fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        Self(*bytes)
    }

    /// The bytes of the signature.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// Returns true if `identity`, an Ed25519 public key, signed for this hub and this peer. The
    /// caller MUST pass the peer id that the connection has proved.
    #[must_use]
    pub fn verify(&self, identity: &[u8; 32], hub: &PeerId, peer: &PeerId) -> bool {
        VerifyingKey::from_bytes(identity).is_ok_and(|key| {
            key.verify(&message(hub, peer), &Signature::from_bytes(&self.0)).is_ok()
        })
    }
}

fn message(hub: &PeerId, peer: &PeerId) -> Vec<u8> {
    let label = label::DELIVERY_RECOVERY.as_str().as_bytes();
    [label, hub.as_bytes(), peer.as_bytes()].concat()
}

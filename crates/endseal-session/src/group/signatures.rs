//! Signatures of messages that are opened together, and decoded keys of their senders.

use alloc::collections::BTreeMap;

use endseal_crypto::ed25519::{self, Signature, Signed, VerifyingKey};

/// Keys kept decoded; a group with more senders decodes some again.
const MAX_KEYS: usize = 128;

/// Signatures of messages that are opened together: none was verified yet.
#[derive(Clone, Default)]
pub(super) struct Signatures(Vec<Collected>);

#[derive(Clone)]
struct Collected {
    key: VerifyingKey,
    message: Vec<u8>,
    signature: Signature,
}

impl Signatures {
    /// Adds a signature to those that [`Self::verify`] checks.
    pub(super) fn add(&mut self, key: VerifyingKey, message: Vec<u8>, signature: Signature) {
        self.0.push(Collected { key, message, signature });
    }

    /// Returns true if every signature is one of its key and message. The verdict is that of one by
    /// one.
    pub(super) fn verify(&self) -> bool {
        let mut all = Vec::with_capacity(self.0.len());
        for Collected { key, message, signature } in &self.0 {
            all.push(Signed { key, message, signature });
        }
        ed25519::verify_many(&all).is_ok()
    }
}

/// Keys of senders, decoded.
#[derive(Default)]
pub(super) struct Keys(BTreeMap<[u8; 32], VerifyingKey>);

impl Keys {
    /// Returns a key, decoded; `None` if it is none.
    pub(super) fn decoded(&mut self, key: &[u8; 32]) -> Option<VerifyingKey> {
        if let Some(key) = self.0.get(key) {
            return Some(key.clone());
        }
        let decoded = VerifyingKey::from_bytes(key).ok()?;
        if self.0.len() >= MAX_KEYS {
            self.0.clear();
        }
        self.0.insert(*key, decoded.clone());
        Some(decoded)
    }
}

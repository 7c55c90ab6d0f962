//! Signatures of messages that are opened together, and decoded keys of their senders.

use alloc::collections::BTreeMap;

use endseal_crypto::ed25519::{self, Signature, Signed, VerifyingKey};

/// Number of decoded keys that are cached; in a group with more senders some are decoded again.
const MAX_KEYS: usize = 128;

/// Collected signatures that are not verified yet.
#[derive(Clone, Default)]
pub(super) struct Signatures(Vec<Collected>);

#[derive(Clone)]
struct Collected {
    key: VerifyingKey,
    message: Vec<u8>,
    signature: Signature,
}

impl Signatures {
    /// Adds a signature, which [`Self::verify`] checks.
    pub(super) fn add(&mut self, key: VerifyingKey, message: Vec<u8>, signature: Signature) {
        self.0.push(Collected { key, message, signature });
    }

    /// Returns true if all signatures are valid. The result equals that of verifying them one by
    /// one.
    pub(super) fn verify(&self) -> bool {
        let mut all = Vec::with_capacity(self.0.len());
        for Collected { key, message, signature } in &self.0 {
            all.push(Signed { key, message, signature });
        }
        ed25519::verify_many(&all).is_ok()
    }
}

/// Cache of decoded sender keys.
#[derive(Default)]
pub(super) struct Keys(BTreeMap<[u8; 32], VerifyingKey>);

impl Keys {
    /// Returns the decoded key; `None` if the bytes are not a valid key.
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

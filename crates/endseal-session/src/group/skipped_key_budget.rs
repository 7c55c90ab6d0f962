//! Limit of the keys that the library keeps for missing messages.
//!
//! A ratchet that skips messages keeps their keys, and the library deletes none before the epoch is
//! deleted. Each message of a member may skip 1,024, so a hostile member could fill the memory of
//! all others. Therefore the generations of the senders are tracked here, and a message that would
//! keep too many keys is refused.

use alloc::collections::BTreeMap;

use super::error::StateError;
use super::state_fields::{flag, take};

/// Limit of keys of missing messages in a group: about 6 MiB. A commit starts new ratchets.
pub(super) const MAX_MISSING: u32 = 65_536;

/// Positions of the senders' ratchets, by epoch.
#[derive(Clone, Default)]
pub(super) struct SkippedKeyBudget(BTreeMap<u64, Ratchets>);

#[derive(Clone, Default)]
struct Ratchets {
    missing: u32,
    /// Next generation of each ratchet.
    next: BTreeMap<Ratchet, u32>,
}

/// One of the two ratchets of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ratchet {
    leaf: u32,
    is_application: bool,
}

/// Position of a message's key, from its decrypted sender data.
#[derive(Clone, Copy)]
pub(super) struct Generation {
    ratchet: Ratchet,
    generation: u32,
}

impl Generation {
    /// Decodes sender data: leaf, generation and reuse guard (RFC 9420, section 6.3.2).
    pub(super) fn read(sender_data: &[u8], is_application: bool) -> Option<Self> {
        let sender_data: &[u8; 12] = sender_data.try_into().ok()?;
        let (leaf, rest) = sender_data.split_first_chunk()?;
        let (generation, _) = rest.split_first_chunk()?;
        let leaf = u32::from_be_bytes(*leaf);
        let generation = u32::from_be_bytes(*generation);
        Some(Self { ratchet: Ratchet { leaf, is_application }, generation })
    }
}

impl SkippedKeyBudget {
    /// Returns true if the keys that a message of `epoch` skips stay within the limit.
    pub(super) fn have_room(&self, epoch: u64, message: Generation) -> bool {
        let missing = self.0.values().map(|ratchets| ratchets.missing).fold(0, u32::saturating_add);
        let skips = message.generation.saturating_sub(self.next(epoch, message.ratchet));
        missing.saturating_add(skips) <= MAX_MISSING
    }

    /// Records that the key of a message was taken.
    pub(super) fn took(&mut self, epoch: u64, message: Generation) {
        let next = self.next(epoch, message.ratchet);
        let ratchets = self.0.entry(epoch).or_default();
        if let Some(skipped) = message.generation.checked_sub(next) {
            ratchets.missing = ratchets.missing.saturating_add(skipped);
            ratchets.next.insert(message.ratchet, message.generation.saturating_add(1));
        } else {
            ratchets.missing = ratchets.missing.saturating_sub(1);
        }
    }

    /// Drops epochs before `oldest`, as the library does.
    pub(super) fn trim(&mut self, oldest: u64) {
        if self.0.first_key_value().is_some_and(|(epoch, _)| *epoch < oldest) {
            self.0 = self.0.split_off(&oldest);
        }
    }

    fn next(&self, epoch: u64, ratchet: Ratchet) -> u32 {
        let ratchets = self.0.get(&epoch);
        ratchets.and_then(|it| it.next.get(&ratchet)).copied().unwrap_or(0)
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.0.len() as u64).to_le_bytes());
        for (epoch, Ratchets { missing, next }) in &self.0 {
            out.extend_from_slice(&epoch.to_le_bytes());
            out.extend_from_slice(&missing.to_le_bytes());
            out.extend_from_slice(&(next.len() as u64).to_le_bytes());
            for (ratchet, next) in next {
                out.extend_from_slice(&ratchet.leaf.to_le_bytes());
                out.push(u8::from(ratchet.is_application));
                out.extend_from_slice(&next.to_le_bytes());
            }
        }
    }

    pub(super) fn decode(rest: &mut &[u8]) -> Result<Self, StateError> {
        let mut epochs = BTreeMap::new();
        for _ in 0..u64::from_le_bytes(take(rest)?) {
            let epoch = u64::from_le_bytes(take(rest)?);
            let missing = u32::from_le_bytes(take(rest)?);
            let mut next = BTreeMap::new();
            for _ in 0..u64::from_le_bytes(take(rest)?) {
                let leaf = u32::from_le_bytes(take(rest)?);
                let is_application = flag(rest)?;
                next.insert(Ratchet { leaf, is_application }, u32::from_le_bytes(take(rest)?));
            }
            epochs.insert(epoch, Ratchets { missing, next });
        }
        Ok(Self(epochs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(leaf: u32, generation: u32) -> Generation {
        Generation { ratchet: Ratchet { leaf, is_application: true }, generation }
    }

    fn missing(skipped_keys: &SkippedKeyBudget) -> u32 {
        skipped_keys.0.values().map(|ratchets| ratchets.missing).sum()
    }

    #[test]
    fn what_is_missing_is_counted() {
        let mut skipped_keys = SkippedKeyBudget::default();
        for (generation, expected) in [(0, 0), (5, 4), (2, 3), (1, 2), (6, 2), (4, 1), (3, 0)] {
            skipped_keys.took(7, message(1, generation));
            assert_eq!(missing(&skipped_keys), expected);
        }
        skipped_keys.took(7, message(2, 10));
        skipped_keys.took(8, message(2, 20));
        assert_eq!(missing(&skipped_keys), 30);
        skipped_keys.trim(8);
        assert_eq!(missing(&skipped_keys), 20);
    }

    #[test]
    fn there_is_room_up_to_the_limit() {
        let mut skipped_keys = SkippedKeyBudget::default();
        skipped_keys.took(7, message(1, MAX_MISSING - 10));
        assert!(skipped_keys.have_room(7, message(2, 10)));
        assert!(!skipped_keys.have_room(7, message(2, 11)));
        assert!(!skipped_keys.have_room(8, message(1, 11)));
        // A message that fills a gap is always accepted.
        skipped_keys.took(7, message(2, 10));
        assert!(skipped_keys.have_room(7, message(1, 3)));
        assert!(!skipped_keys.have_room(7, message(2, u32::MAX)));
    }

    #[test]
    fn they_are_stored() {
        let mut skipped_keys = SkippedKeyBudget::default();
        skipped_keys.took(7, message(1, 5));
        skipped_keys.took(9, message(300, 2));
        let mut bytes = Vec::new();
        skipped_keys.encode(&mut bytes);
        let mut again = Vec::new();
        SkippedKeyBudget::decode(&mut bytes.as_slice()).unwrap().encode(&mut again);
        assert_eq!(bytes, again);
        assert!(SkippedKeyBudget::decode(&mut &bytes[..bytes.len() - 1]).is_err());
    }
}

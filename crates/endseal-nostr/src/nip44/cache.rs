//! Conversations that were used last.

use endseal_crypto::secp256k1::PublicKey;

use super::conversation::Conversation;

/// Keeps the `N` conversations that were used last, by both public keys. A conversation that leaves
/// the cache is wiped.
///
/// Finding a conversation compares with all entries; `N` is meant to be at most some hundreds.
/// Public keys are no secret, and are compared as such.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct Cache<const N: usize> {
    entries: [Option<Entry>; N],
    /// Counter that rises with each use, so that the least recently used entry is known.
    now: u64,
}

struct Entry {
    own: [u8; 32],
    peer: [u8; 32],
    conversation: Conversation,
    used: u64,
}

impl<const N: usize> Cache<N> {
    /// Makes an empty cache.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(N > 0, "a cache holds something") }
        Self { entries: [const { None }; N], now: 0 }
    }

    /// The conversation between `own` and `peer`; made by `make`, in the place of the one that was
    /// not used for longest, if it is not there.
    ///
    /// `make` MUST give the conversation of these two keys.
    pub fn get_or_insert_with(
        &mut self,
        own: &PublicKey,
        peer: &PublicKey,
        make: impl FnOnce() -> Conversation,
    ) -> &Conversation {
        let (own, peer) = (own.to_bytes(), peer.to_bytes());
        self.now += 1;
        let now = self.now;
        let at = self.place(&own, &peer);
        let slot = &mut self.entries[at];
        // An entry with other keys is dropped, and thereby wiped, before the new one is made.
        if slot.as_ref().is_some_and(|entry| entry.own != own || entry.peer != peer) {
            *slot = None;
        }
        let entry =
            slot.get_or_insert_with(|| Entry { own, peer, conversation: make(), used: now });
        entry.used = now;
        &entry.conversation
    }

    /// Wipes all conversations of `own`, for example because that key is locked or removed.
    pub fn forget(&mut self, own: &PublicKey) {
        let own = own.to_bytes();
        for slot in &mut self.entries {
            if slot.as_ref().is_some_and(|entry| entry.own == own) {
                *slot = None;
            }
        }
    }

    /// Index of the entry, or else of a free one, or else of the one that was not used for longest.
    fn place(&self, own: &[u8; 32], peer: &[u8; 32]) -> usize {
        let mut oldest = (u64::MAX, 0);
        for (at, slot) in self.entries.iter().enumerate() {
            let used = match slot {
                Some(entry) if entry.peer == *peer && entry.own == *own => return at,
                Some(entry) => entry.used,
                None => 0,
            };
            oldest = oldest.min((used, at));
        }
        oldest.1
    }
}

impl<const N: usize> Default for Cache<N> {
    fn default() -> Self {
        Self::new()
    }
}

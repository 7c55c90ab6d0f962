//! Keys in memory, the one that was not used for longest first.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use std::collections::HashMap;

use tokio::time::Instant;

use crate::ContentKey;

pub(super) type Digest = [u8; 32];

/// Holds a limited number of keys, each until its time. A key is wiped after its last user has
/// dropped it.
pub(super) struct Entries {
    limit: usize,
    keys: HashMap<Digest, Entry>,
    /// By the number of the last use.
    order: BTreeMap<u64, Digest>,
    uses: u64,
}

struct Entry {
    key: Arc<ContentKey>,
    expires: Instant,
    used: u64,
}

impl Entries {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, keys: HashMap::new(), order: BTreeMap::new(), uses: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn find(&mut self, digest: &Digest, now: Instant) -> Option<Arc<ContentKey>> {
        let entry = self.keys.get_mut(digest)?;
        if entry.expires <= now {
            self.remove(digest);
            return None;
        }
        self.uses += 1;
        self.order.remove(&entry.used);
        self.order.insert(self.uses, *digest);
        entry.used = self.uses;
        Some(Arc::clone(&entry.key))
    }

    /// Adds a key. Returns the number of keys that were removed to keep the limit.
    pub(super) fn insert(&mut self, digest: Digest, key: Arc<ContentKey>, expires: Instant) -> u64 {
        self.remove(&digest);
        if self.limit == 0 {
            return 0;
        }
        let mut evicted = 0;
        while self.keys.len() >= self.limit
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.keys.remove(&oldest);
            evicted += 1;
        }
        self.uses += 1;
        self.order.insert(self.uses, digest);
        self.keys.insert(digest, Entry { key, expires, used: self.uses });
        evicted
    }

    pub(super) fn drop_expired(&mut self, now: Instant) {
        let order = &mut self.order;
        self.keys.retain(|_, entry| {
            let good = entry.expires > now;
            if !good {
                order.remove(&entry.used);
            }
            good
        });
    }

    fn remove(&mut self, digest: &Digest) {
        if let Some(entry) = self.keys.remove(digest) {
            self.order.remove(&entry.used);
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    fn key(n: u8) -> Arc<ContentKey> {
        Arc::new(ContentKey::from_bytes(&[n; 32]))
    }

    #[tokio::test]
    async fn the_least_used_key_makes_room() {
        let (now, mut entries) = (Instant::now(), Entries::new(3));
        let later = now + Duration::from_secs(1);
        for n in 0..3 {
            assert_eq!(entries.insert([n; 32], key(n), later), 0);
        }
        assert!(entries.find(&[0; 32], now).is_some());
        assert_eq!(entries.insert([3; 32], key(3), later), 1);
        assert!(entries.find(&[1; 32], now).is_none());
        for n in [0, 2, 3] {
            let found = entries.find(&[n; 32], now).unwrap();
            assert!(*found == *key(n));
        }
        // Adding the same key again removes no other key.
        assert_eq!(entries.insert([3; 32], key(4), later), 0);
        assert_eq!((entries.len(), entries.order.len()), (3, 3));
    }

    #[tokio::test]
    async fn keys_have_an_end() {
        let (now, mut entries) = (Instant::now(), Entries::new(10));
        for n in 0..4 {
            entries.insert([n; 32], key(n), now + Duration::from_secs(n.into()));
        }
        assert!(entries.find(&[0; 32], now).is_none());
        assert_eq!(entries.len(), 3);
        entries.drop_expired(now + Duration::from_secs(2));
        assert_eq!((entries.len(), entries.order.len()), (1, 1));
        assert!(entries.find(&[3; 32], now).is_some());
    }

    #[tokio::test]
    async fn without_room_nothing_is_kept() {
        let mut entries = Entries::new(0);
        entries.insert([0; 32], key(0), Instant::now() + Duration::from_secs(1));
        assert_eq!(entries.len(), 0);
    }
}

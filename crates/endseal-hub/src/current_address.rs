//! The address note that the hub gives to its nodes (docs/spec/delivery.md, "Address note").

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use endseal_crypto::peer_id::PeerId;
use endseal_keyring::{AddressNote, PeerIdText};

/// The newest note, and the devices that have it. Clones share it.
#[derive(Clone)]
pub(crate) struct CurrentAddress {
    hub: PeerId,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The note as the database has it, which may be damaged.
    bytes: Option<Vec<u8>>,
    note: Option<AddressNote>,
    /// Devices that greeted with the time of the note: it is durable there.
    known: HashSet<PeerId>,
    /// True after the warning that a device has a later note.
    has_warned: bool,
}

impl CurrentAddress {
    /// An empty place for the note of a hub.
    pub(crate) fn new(hub: PeerId) -> Self {
        Self { hub, state: Arc::default() }
    }

    /// Takes over what the database has. A note that the hub's key did not sign is not given out.
    pub(crate) fn adopt(&self, bytes: Option<Vec<u8>>) {
        let mut state = self.lock();
        if state.bytes == bytes {
            return;
        }
        let note = bytes.as_deref().map(|bytes| AddressNote::open(bytes, &self.hub));
        if let Some(Err(cause)) = &note {
            tracing::warn!(
                target: "hub",
                %cause,
                "the address note cannot be used: endseal hub move replaces it"
            );
        }
        let note = note.and_then(Result::ok);
        *state = State { bytes, note, ..State::default() };
    }

    /// Returns the encoded note for a registered device that has one of the time `noted`. `None` if
    /// it has the newest.
    pub(crate) fn for_device(&self, peer: PeerId, noted: u64) -> Option<Vec<u8>> {
        let mut state = self.lock();
        let time = state.note.as_ref().map_or(0, AddressNote::time);
        if noted < time {
            return state.note.as_ref().map(|note| note.as_bytes().to_vec());
        }
        if noted > time && !state.has_warned {
            state.has_warned = true;
            tracing::warn!(
                target: "hub",
                "a device has a later address note than this hub, whose database may be an \
                 older copy: run endseal hub move again"
            );
        }
        if noted == time && time > 0 && state.known.insert(peer) {
            let device = PeerIdText::from(peer).to_string();
            let known = state.known.len();
            tracing::info!(target: "hub", device, known, "a device knows the new address");
        }
        None
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use endseal_crypto::mldsa65::{Seed, SigningKey};
    use endseal_crypto::random::OsRandom;

    use super::*;

    #[test]
    fn a_device_gets_a_note_that_is_newer_than_its_own() {
        let key = SigningKey::from_seed(Seed::from_bytes(&[1; 32]));
        let hub = PeerId::of_spki(&key.public_key().to_spki());
        let note = |key: &SigningKey, time| {
            let note = AddressNote::sign(key, time, &["a:1"], &mut OsRandom);
            note.unwrap().as_bytes().to_vec()
        };
        let (current, peer) = (CurrentAddress::new(hub), PeerId::from_bytes(&[2; 32]));
        assert_eq!(current.for_device(peer, 0), None);
        let five = note(&key, 5);
        current.adopt(Some(five.clone()));
        for earlier in [0, 4] {
            assert_eq!(current.for_device(peer, earlier), Some(five.clone()));
        }
        assert!(current.lock().known.is_empty());
        assert_eq!(current.for_device(peer, 5), None);
        assert_eq!(current.lock().known.len(), 1);
        assert_eq!(current.for_device(peer, 6), None);
        assert!(current.lock().has_warned);
        // The same one again forgets nothing.
        current.adopt(Some(five));
        assert_eq!(current.lock().known.len(), 1);
        current.adopt(Some(note(&key, 6)));
        assert!(current.for_device(peer, 5).is_some());
        assert!(current.lock().known.is_empty());
        let other = SigningKey::from_seed(Seed::from_bytes(&[3; 32]));
        for refused in [Some(note(&other, 7)), Some(vec![1; 9]), None] {
            current.adopt(refused);
            assert_eq!(current.for_device(peer, 5), None);
        }
    }
}

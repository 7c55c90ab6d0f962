//! People with a device and a store.

use core::sync::atomic::{AtomicU32, Ordering};
use std::fs;
use std::path::PathBuf;

use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::OsRandom;
use endseal_session::{Address, DeviceId, Engine, Envelope, NewDevice, Outgoing, SendError};
use endseal_store::{OpenOptions, Protection, Store, Unlock};

/// A directory of its own, removed at the end.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("endseal-session-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.0.join("store")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) struct Party {
    pub(crate) place: Place,
    pub(crate) engine: Option<Engine>,
    pub(crate) address: Address,
}

impl Party {
    pub(crate) fn new(identity: u8) -> Self {
        Self::with_device(identity, 1)
    }

    pub(crate) fn with_device(identity: u8, device: u32) -> Self {
        let place = Place::new();
        let store = Store::create(&place.store(), Protection::None, &mut OsRandom).unwrap();
        let signing = SigningKey::from_seed(Seed::from_bytes(&[identity; 32]));
        let new = NewDevice {
            identity: &signing,
            device: DeviceId::new(device).unwrap(),
            peer_id: PeerId::from_bytes(&[identity; 32]),
            now: 1_790_000_000_000,
        };
        let engine = Engine::create(store, new, &mut OsRandom).unwrap();
        let address = engine.address();
        Self { place, engine: Some(engine), address }
    }

    pub(crate) fn engine(&mut self) -> &mut Engine {
        self.engine.as_mut().unwrap()
    }

    /// Closes the store, as at the end of a process, and opens it again.
    pub(crate) fn restart(&mut self) {
        drop(self.engine.take());
        let store = Store::open(&self.place.store(), Unlock::None, OpenOptions::new()).unwrap();
        self.engine = Some(Engine::open(store).unwrap());
    }

    /// A session from here to there, on which nothing was sent.
    pub(crate) fn begin(&mut self, other: &mut Self) {
        let bundles = other.engine().transaction(|t| t.prekey_bundles(1, 7)).unwrap();
        self.engine().transaction(|t| t.begin_session(&bundles[0])).unwrap();
    }

    /// A session between the two that both have answered on.
    pub(crate) fn meet(&mut self, other: &mut Self) {
        self.begin(other);
        let hello = self.send(other.address, b"hello");
        other.receive_one(self.address, b"hello-id", &hello);
        let answer = other.send(self.address, b"answer");
        self.receive_one(other.address, b"answer-id", &answer);
        for party in [self, other] {
            let number = party.engine().inbox().next().unwrap().unwrap().number;
            assert!(party.engine().inbox().consume(number).unwrap());
        }
    }

    pub(crate) fn send(&mut self, to: Address, text: &[u8]) -> Vec<u8> {
        let Outgoing { number, body, .. } = self.engine().encrypt(to, text).unwrap();
        assert!(self.engine().outbox().sent(number).unwrap());
        body
    }

    /// Several messages in one transaction.
    pub(crate) fn send_all(&mut self, to: Address, texts: &[&Vec<u8>]) -> Vec<Vec<u8>> {
        let engine = self.engine();
        let numbers = engine.transaction(|t| {
            texts.iter().map(|text| t.encrypt(to, text)).collect::<Result<_, _>>()
        });
        let numbers: Vec<u64> = numbers.map_err(|it: SendError| it).unwrap();
        let pending = engine.outbox().pending(0, usize::MAX >> 1).unwrap();
        assert_eq!(pending.iter().map(|it| it.number).collect::<Vec<_>>(), numbers);
        engine.outbox().sent_many(&numbers).unwrap();
        pending.into_iter().map(|it| it.body).collect()
    }

    pub(crate) fn receive_one(&mut self, from: Address, id: &[u8], body: &[u8]) {
        let envelope = Envelope::from_device(id, from, body);
        let outcome = self.engine().transaction(|t| t.decrypt(&envelope)).unwrap();
        assert!(outcome.is_kept(), "{outcome:?}");
    }

    /// All that lies in the inbox, in order.
    pub(crate) fn texts(&mut self) -> Vec<Vec<u8>> {
        let page = self.engine().inbox().page(0, usize::MAX >> 1).unwrap();
        page.into_iter().map(|it| it.plaintext.to_vec()).collect()
    }
}

//! Test parties: people with a device and a store.

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};

use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::OsRandom;
use endseal_keyring::device::{Address, DeviceId, PrekeyBundle};
use endseal_session::group::{Commit, Group, GroupError, Suite};
use endseal_session::{
    BatchOptions, Engine, EngineError, Envelope, GroupChangeError, NewDevice, Outcome, Outgoing,
    OutgoingKind, SendError,
};
use endseal_store::{OpenOptions, Protection, Store, Unlock};

/// A time in 2026, since 1970.
pub(crate) const NOW: Duration = Duration::from_secs(1_790_000_000);

/// A temporary directory, which is removed at the end.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("endseal-session-{}-{number}", std::process::id());
        // In memory if possible, because these tests do not cut the power.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let path = folder.join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
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
        Self::made_at(identity, device, 1_790_000_000_000)
    }

    /// Makes a device with a certificate of the given time, which can replace an earlier one.
    pub(crate) fn made_at(identity: u8, device: u32, now: u64) -> Self {
        let place = Place::new();
        let store = Store::create(&place.store(), Protection::None, &mut OsRandom).unwrap();
        let signing = SigningKey::from_seed(Seed::from_bytes(&[identity; 32]));
        let new = NewDevice {
            identity: &signing,
            device: DeviceId::new(device).unwrap(),
            peer_id: PeerId::from_bytes(&[identity; 32]),
            now,
        };
        let engine = Engine::create(store, new, &mut OsRandom).unwrap();
        let address = engine.address();
        Self { place, engine: Some(engine), address }
    }

    /// Opens the party that has its store in `place`.
    pub(crate) fn at(place: Place) -> Self {
        let store = open(&place);
        let engine = Engine::open(store).unwrap();
        let address = engine.address();
        Self { place, engine: Some(engine), address }
    }

    pub(crate) fn engine(&mut self) -> &mut Engine {
        self.engine.as_mut().unwrap()
    }

    /// Closes the store, as at the end of a process, and opens it again.
    pub(crate) fn restart(&mut self) {
        drop(self.engine.take());
        let store = open(&self.place);
        self.engine = Some(Engine::open(store).unwrap());
    }

    /// Begins a session with `other`, on which nothing was sent.
    pub(crate) fn begin(&mut self, other: &mut Self) {
        let bundle = other.bundles(1).remove(0);
        self.begin_with(&bundle);
    }

    /// Begins a session with the device of a bundle.
    pub(crate) fn begin_with(&mut self, bundle: &PrekeyBundle) {
        let to = bundle.certificate().address();
        self.engine().transaction(|t| t.begin_session(to, bundle)).unwrap();
    }

    /// Makes and publishes bundles of one-time keys.
    pub(crate) fn bundles(&mut self, count: usize) -> Vec<PrekeyBundle> {
        let made = self.engine().transaction(|t| {
            let bundles = t.one_time_bundles(count, 7)?;
            t.published(&bundles)?;
            Ok(bundles)
        });
        made.map_err(|it: EngineError| it).unwrap()
    }

    /// Begins a session on which both sides have answered.
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

    /// Sends several messages in one transaction.
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

    /// Returns all texts in the inbox, in order.
    pub(crate) fn texts(&mut self) -> Vec<Vec<u8>> {
        let page = self.engine().inbox().page(0, usize::MAX >> 1).unwrap();
        page.into_iter().map(|it| it.plaintext.to_vec()).collect()
    }

    /// Kills the process: its memory is lost, but not the data that it gave to the system. The
    /// party continues with a copy of its directory, taken while the store was open.
    pub(crate) fn kill(&mut self) {
        let left = self.place.path().join("left");
        copy(&self.place.store(), &left);
        drop(self.engine.take());
        fs::remove_dir_all(self.place.store()).unwrap();
        fs::rename(&left, self.place.store()).unwrap();
        self.restart();
    }

    /// Makes a copy of the store for [`Self::restore`].
    pub(crate) fn backup(&mut self) {
        let backup = self.place.path().join("backup");
        let _ = fs::remove_dir_all(&backup);
        self.engine().store().backup(&backup).unwrap();
    }

    /// Restores the store from the backup.
    pub(crate) fn restore(&mut self) {
        drop(self.engine.take());
        fs::remove_dir_all(self.place.store()).unwrap();
        let backup = self.place.path().join("backup");
        let store = Store::restore(&backup, &self.place.store(), Unlock::None).unwrap();
        self.engine = Some(Engine::open(store).unwrap());
    }

    /// Returns the bundle of a fallback key, for any number of sessions.
    pub(crate) fn fallback(&mut self) -> PrekeyBundle {
        self.engine().transaction(|t| t.prekey_bundles(0, 7)).unwrap().pop().unwrap()
    }

    /// Makes a group and adds the others.
    pub(crate) fn found(&mut self, id: &[u8], others: &mut [&mut Self]) {
        self.engine().transaction(|t| t.create_group(id, NOW)).unwrap();
        let packages: Vec<_> = others.iter_mut().map(|it| it.key_package()).collect();
        let packages: Vec<_> = packages.iter().map(Vec::as_slice).collect();
        let (_, welcome) = self.change(id, |group| group.add(packages, NOW));
        for other in others {
            other.engine().transaction(|t| t.join_group(&welcome[0])).unwrap();
        }
    }

    pub(crate) fn key_package(&mut self) -> Vec<u8> {
        self.engine().transaction(|t| t.key_package(Suite::default(), NOW)).unwrap()
    }

    /// Makes a group change that is accepted: the commit for the others, and the welcomes.
    pub(crate) fn change(
        &mut self,
        id: &[u8],
        change: impl FnOnce(&mut Group) -> Result<Commit, GroupError>,
    ) -> (Vec<u8>, Vec<Vec<u8>>) {
        let changed = self.engine().transaction(|t| t.commit_group(id, change));
        let number = changed.map_err(|it: GroupChangeError| it).unwrap();
        let body = self.take_out(number);
        let own = blake(&body);
        let outcome = self.receive_group(id, &own, &body);
        assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
        (body, self.take_welcomes())
    }

    /// Removes the welcomes from the outbox and returns them; one for several devices is returned
    /// once.
    pub(crate) fn take_welcomes(&mut self) -> Vec<Vec<u8>> {
        let mut rows = self.engine().outbox().pending(0, usize::MAX >> 1).unwrap();
        rows.retain(|row| row.kind == OutgoingKind::Welcome);
        let numbers: Vec<_> = rows.iter().map(|row| row.number).collect();
        self.engine().outbox().sent_many(&numbers).unwrap();
        let mut welcomes: Vec<_> = rows.into_iter().map(|row| row.body).collect();
        welcomes.dedup();
        welcomes
    }

    /// Removes a message from the outbox and returns its bytes.
    pub(crate) fn take_out(&mut self, number: u64) -> Vec<u8> {
        let body = self.engine().outbox().pending(number - 1, 1).unwrap().remove(0).body;
        assert!(self.engine().outbox().sent(number).unwrap());
        body
    }

    pub(crate) fn send_group(&mut self, id: &[u8], texts: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let engine = self.engine();
        let numbers: Result<Vec<_>, SendError> =
            engine.transaction(|t| texts.iter().map(|text| t.encrypt_group(id, text)).collect());
        let numbers = numbers.unwrap();
        let pending = engine.outbox().pending(numbers[0] - 1, numbers.len()).unwrap();
        engine.outbox().sent_many(&numbers).unwrap();
        pending.into_iter().map(|it| it.body).collect()
    }

    pub(crate) fn receive_group(&mut self, group: &[u8], id: &[u8], body: &[u8]) -> Outcome {
        let envelope = Envelope::from_group(id, group, body);
        self.engine().transaction(|t| t.decrypt(&envelope)).unwrap()
    }

    /// Decrypts the envelopes in one batch and returns their results.
    pub(crate) fn receive(&mut self, envelopes: &[Envelope<'_>]) -> Vec<Outcome> {
        self.engine().decrypt_batch(envelopes, &BatchOptions::whole()).unwrap().outcomes
    }
}

/// Opens a store. A child process of another test holds our locks from its fork to its exec, so a
/// lock that was just released may still be held for a moment.
fn open(place: &Place) -> Store {
    let options = OpenOptions::new().wait(Duration::from_secs(10));
    Store::open(&place.store(), Unlock::None, options).unwrap()
}

/// Returns an id that is different for each message.
pub(crate) fn blake(body: &[u8]) -> [u8; 32] {
    endseal_crypto::hash::digest(body)
}

/// Copies the files of a store in the state in which another process would find them.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

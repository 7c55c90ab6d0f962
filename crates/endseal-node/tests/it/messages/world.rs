//! A hub with a database, and nodes with state directories.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;
use std::sync::Mutex;

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::identity::{Identity, RootSeed};
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_hub::{Hub, HubLimits, HubStore as _, SqliteStore};
use endseal_keyring::device::DeviceId;
use endseal_keyring::{IdentityFile, Invitation, JoinToken, Name, PersonRecord};
use endseal_node::messages::{
    self, Conversation, HubClient, NodeFiles, SyncError, SyncReport, accept, hub_limits, join,
    mark_read, sync, unread,
};
use endseal_node::{Existing, Home, NewIdentity, OtherDevices};
use endseal_session::Engine;
use endseal_testing::Scratch;
use endseal_transport::{Accept, Connection, Endpoint, Policy, TransportKey};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct World {
    pub(crate) folder: Scratch,
    key: TransportKey,
    pub(crate) hub: Option<Hub>,
    pub(crate) address: SocketAddr,
    limits: HubLimits,
    /// All persons, who accept texts of each other.
    people: People,
}

/// Persons whose texts go to the inbox.
pub(crate) type People = Arc<Mutex<Vec<PublicKey>>>;

impl World {
    pub(crate) fn new() -> Self {
        let mut limits = HubLimits::default();
        (limits.burst, limits.rate) = (1_000_000, 1_000_000);
        Self::with(limits)
    }

    pub(crate) fn with(limits: HubLimits) -> Self {
        let key = TransportKey::new(&Identity::generate(&mut OsRandom).unwrap());
        let address = "127.0.0.1:0".parse().unwrap();
        let mut world = Self {
            folder: Scratch::new(),
            key,
            hub: None,
            address,
            limits,
            people: People::default(),
        };
        world.start();
        world
    }

    pub(crate) fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.folder.path("hub.db")).unwrap()
    }

    pub(crate) fn start(&mut self) {
        let here = "127.0.0.1:0".parse().unwrap();
        let limits = self.limits.clone();
        let store = Box::new(self.store());
        let hub = Hub::serve(here, &self.key, Policy::default(), store, limits).unwrap();
        self.address = hub.local_address().unwrap();
        self.hub = Some(hub);
    }

    pub(crate) async fn stop(&mut self) {
        self.hub.take().unwrap().close().await;
        // The threads end with the last handle of the hub.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    pub(crate) fn hub(&self) -> PeerId {
        self.key.peer_id()
    }

    pub(crate) fn invitation(&self) -> Invitation {
        let token = JoinToken::try_init_with(|bytes| OsRandom.fill(bytes)).unwrap();
        let (digest, expires) = (token.digest(), u64::MAX / 4);
        self.store().transact(&mut |it| it.add_invitation(&digest, "test", expires, 1)).unwrap();
        Invitation::new(self.hub(), token, &["127.0.0.1:1"]).unwrap()
    }

    /// A person with one device.
    pub(crate) fn person(&self, name: &str) -> Person {
        let home = Home::create(&self.folder.path(name)).unwrap();
        let root = Identity::from_root_seed(RootSeed::generate(&mut OsRandom).unwrap());
        let device = Identity::generate(&mut OsRandom).unwrap();
        let file =
            |identity| IdentityFile::seal_without_passphrase(identity, &mut OsRandom).unwrap();
        let new = NewIdentity {
            root: &root,
            root_file: &file(&root),
            device: &device,
            device_file: &file(&device),
            number: DeviceId::new(1),
            at_hub: None,
            others: OtherDevices::Revoke,
            now: 1_790_000_000_000,
        };
        home.install(&new, Existing::Keep, &home.lock().unwrap()).unwrap();
        let engine = home.sessions(&device, Duration::ZERO).unwrap();
        let record = home.person().unwrap();
        let identity = *root.public().ed25519();
        self.people.lock().unwrap().push(identity);
        let people = Arc::clone(&self.people);
        Person { identity, root, device, home, engine, record, people }
    }

    /// Makes a person whose device is registered at the hub.
    pub(crate) async fn member(&self, name: &str) -> Person {
        let mut person = self.person(name);
        person.join(self).await;
        person
    }

    pub(crate) async fn connect(&self, key: &TransportKey) -> (Endpoint, Connection) {
        let here = "127.0.0.1:0".parse().unwrap();
        let policy = Policy::default();
        let endpoint =
            Endpoint::bind_with(here, key, policy, Accept::none(), hub_limits()).unwrap();
        let connection = endpoint.connect(self.hub(), self.address).await.unwrap();
        (endpoint, connection)
    }
}

pub(crate) struct Person {
    pub(crate) identity: PublicKey,
    pub(crate) root: Identity,
    pub(crate) device: Identity,
    pub(crate) home: Home,
    pub(crate) engine: Engine,
    pub(crate) record: PersonRecord,
    pub(crate) people: People,
}

impl Person {
    pub(crate) fn key(&self) -> TransportKey {
        TransportKey::new(&self.device)
    }

    pub(crate) async fn join(&mut self, world: &World) {
        let (_endpoint, connection) = world.connect(&self.key()).await;
        let hub = HubClient::new(&connection, TIMEOUT);
        join(&hub, &mut self.engine, &world.invitation(), &self.record).await.unwrap();
    }

    pub(crate) fn say(&mut self, to: &PublicKey, text: &str) {
        let to = Conversation::Person(*to);
        let said = messages::say(&mut self.engine, &to, &[text]);
        assert_eq!(said.unwrap().len(), 1);
    }

    /// Accepts the texts of all persons of the world. None of them is a contact.
    pub(crate) fn meet(&mut self) {
        let people = self.people.lock().unwrap().clone();
        for person in people.iter().filter(|it| **it != self.identity) {
            accept(&mut self.engine, &self.home, person).unwrap();
        }
    }

    /// Writes another person into the contacts of this one.
    pub(crate) fn knows(&self, other: &Self, name: &str) {
        let mut contacts = self.home.contacts().unwrap();
        contacts.add(Name::new(name).unwrap(), other.root.public().clone()).unwrap();
        self.home.store_contacts(&contacts, &self.home.lock().unwrap()).unwrap();
    }

    pub(crate) async fn sync(&mut self, world: &World) -> SyncReport {
        let (report, result) = self.try_sync(world).await;
        result.unwrap();
        report
    }

    pub(crate) async fn try_sync(&mut self, world: &World) -> (SyncReport, Result<(), SyncError>) {
        self.meet();
        let (_endpoint, connection) = world.connect(&self.key()).await;
        let hub = HubClient::new(&connection, TIMEOUT);
        let mut report = SyncReport::default();
        let files = NodeFiles::new(&self.home);
        let result = sync(&hub, &mut self.engine, &self.record, &files, &mut report).await;
        (report, result)
    }

    /// Reads all unread texts, with their authors, and marks them as read.
    pub(crate) fn read(&mut self) -> Vec<(PublicKey, String)> {
        let mut texts = Vec::new();
        let mut after = 0;
        loop {
            let (page, next) = unread(&mut self.engine, after).unwrap();
            for it in &page {
                let text = it.text(&self.identity).map_or("(none)", |it| it.text);
                texts.push((*it.from(), text.to_owned()));
            }
            let numbers: Vec<_> = page.iter().map(|it| it.number).collect();
            mark_read(&mut self.engine, &numbers).unwrap();
            match next {
                Some(next) => after = next,
                None => return texts,
            }
        }
    }

    /// Opens the store again, as another process would.
    pub(crate) fn restart(self) -> Self {
        let Self { identity, root, device, home, engine, record, people } = self;
        drop(engine);
        let engine = home.sessions(&device, Duration::ZERO).unwrap();
        Self { identity, root, device, home, engine, record, people }
    }
}

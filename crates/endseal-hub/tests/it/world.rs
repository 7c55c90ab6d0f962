//! A hub with a database, and nodes that connect to it.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::thread;
use std::time::Duration;

use endseal_codec::Codec as _;
use endseal_codec::frame::{Stamp, StoredFrame};
use endseal_codec::hub::{Answer, HubAnswer, HubRequest, Put, Register, Request};
use endseal_codec::{Message, Scheme, Sealed, SealedMessage};
use endseal_crypto::identity::Identity;
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::OsRandom;
use endseal_crypto::x25519;
use endseal_delivery::{payload_limits, stored_limits};
use endseal_hub::{Hub, HubLimits, HubStore, HubTransaction, StorageError};
use endseal_keyring::device::{Certificate, DeviceId, DeviceKeys, PrekeyBundle, PrekeyKind};
use endseal_keyring::{JoinToken, PersonRecord};
use endseal_testing::Scratch;
use endseal_transport::{
    Accept, ConnectError, Connection, Endpoint, Frame, FrameReceiver, FrameSender, Kind, Limits,
    Policy, TransportKey,
};
use tokio::time::timeout;

use crate::database::Database;

const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct World {
    pub(crate) folder: Scratch,
    pub(crate) database: Database,
    key: TransportKey,
    pub(crate) limits: HubLimits,
    pub(crate) hub: Option<Hub>,
    pub(crate) address: SocketAddr,
    /// The hub's peer id. It stays the same after a restart, while the port changes.
    pub(crate) peer: PeerId,
}

impl World {
    pub(crate) fn new() -> Self {
        let mut limits = HubLimits::default();
        (limits.burst, limits.rate) = (1_000_000, 1_000_000);
        Self::with(limits)
    }

    pub(crate) fn with(limits: HubLimits) -> Self {
        let (folder, key) = (Scratch::new(), TransportKey::new(&identity()));
        let database = Database::new(&folder);
        let here = "127.0.0.1:0".parse().unwrap();
        let peer = key.peer_id();
        let mut world = Self { folder, database, key, limits, hub: None, address: here, peer };
        world.start();
        world
    }

    /// Starts another hub with the same key before the same database.
    pub(crate) fn beside(&self) -> Self {
        let (key, limits, peer) = (self.key.clone(), self.limits.clone(), self.peer);
        let (folder, database, address) = (Scratch::new(), self.database.clone(), self.address);
        let mut world = Self { folder, database, key, limits, hub: None, address, peer };
        world.start();
        world
    }

    pub(crate) fn key(&self) -> &TransportKey {
        &self.key
    }

    /// Path of the database in SQLite. `None` if it is another engine's, of which a test of files
    /// shows nothing.
    pub(crate) fn path(&self) -> Option<std::path::PathBuf> {
        match &self.database {
            Database::Sqlite(path) => Some(path.clone()),
            Database::Postgres(_) => None,
        }
    }

    /// Runs work on the database beside the hub, as a command of the operator does.
    pub(crate) fn in_store<T: Send>(&self, work: impl FnOnce(&mut dyn HubStore) -> T + Send) -> T {
        // A store may have a runtime of its own, which needs a thread without one.
        thread::scope(|scope| scope.spawn(|| work(&mut *self.database.open())).join().unwrap())
    }

    /// Runs a transaction on the database beside the hub.
    pub(crate) fn transact(
        &self,
        mut work: impl FnMut(&mut dyn HubTransaction) -> Result<(), StorageError> + Send,
    ) {
        self.in_store(|store| store.transact(&mut work)).unwrap();
    }

    /// Returns what is wrong with the database.
    pub(crate) fn faults(&self) -> Vec<String> {
        self.in_store(|store| store.check()).unwrap()
    }

    pub(crate) fn start(&mut self) {
        let limits = self.limits.clone();
        let here = "127.0.0.1:0".parse().unwrap();
        let store = thread::scope(|scope| scope.spawn(|| self.database.open()).join().unwrap());
        let hub = Hub::serve(here, &self.key, Policy::default(), store, limits).unwrap();
        self.address = hub.local_address().unwrap();
        self.hub = Some(hub);
    }

    pub(crate) async fn stop(&mut self) {
        self.hub.take().unwrap().close().await;
        // The hub's threads end when its last handle is dropped.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    /// Adds an invitation.
    pub(crate) fn invite(&self, uses: u32, expires: u64) -> JoinToken {
        let token = JoinToken::try_init_with(|bytes| {
            endseal_crypto::random::Random::fill(&mut OsRandom, bytes)
        });
        let token = token.unwrap();
        let digest = token.digest();
        self.transact(|it| it.add_invitation(&digest, "test", expires, uses));
        token
    }

    /// Returns a registered device of a new person.
    pub(crate) async fn registered(&self) -> Node {
        let node = self.unregistered(&identity(), 1).await;
        let token = self.invite(1, u64::MAX / 4);
        let answer = node.register(&token).await;
        assert!(matches!(answer, Answer::Welcome(_)), "{answer:?}");
        node
    }

    /// Returns a connected but unregistered device of a person.
    pub(crate) async fn unregistered(&self, root: &Identity, number: u32) -> Node {
        self.connect(root, number).await.unwrap()
    }

    /// Like `unregistered`, but returns an error if the hub refuses the connection.
    pub(crate) async fn connect(&self, root: &Identity, number: u32) -> Result<Node, ConnectError> {
        let device = identity();
        let person = person_record(root, number, &device);
        let key = TransportKey::new(&device);
        let certificate = certificate(root, number, key.peer_id());
        let here = "127.0.0.1:0".parse().unwrap();
        let mut limits = Limits::default();
        limits.frame = endseal_delivery::limit::MAX_PAYLOAD;
        let policy = Policy::default();
        let endpoint = Endpoint::bind_with(here, &key, policy, Accept::none(), limits).unwrap();
        let connection = endpoint.connect(self.peer, self.address).await?;
        Ok(Node { endpoint, connection, peer: key.peer_id(), device, certificate, person })
    }
}

pub(crate) fn identity() -> Identity {
    Identity::generate(&mut OsRandom).unwrap()
}

/// Returns the first person record of an identity, with this device. The tests never open its epoch
/// key.
pub(crate) fn person_record(root: &Identity, number: u32, device: &Identity) -> PersonRecord {
    let number = NonZeroU32::new(number).unwrap();
    PersonRecord::create(root, number, device.public(), &mut OsRandom).unwrap()
}

pub(crate) fn certificate(root: &Identity, number: u32, peer_id: PeerId) -> Certificate {
    let agreement = x25519::SecretKey::generate(&mut OsRandom).unwrap();
    let keys = DeviceKeys {
        device: DeviceId::new(number).unwrap(),
        peer_id,
        agreement: agreement.public_key(),
        signing: *identity().public().ed25519(),
        group: *identity().public().ed25519(),
    };
    Certificate::issue(root.signing(), &keys, 1_790_000_000_000)
}

/// A device and its connection to the hub.
pub(crate) struct Node {
    pub(crate) endpoint: Endpoint,
    pub(crate) connection: Connection,
    pub(crate) peer: PeerId,
    pub(crate) device: Identity,
    pub(crate) certificate: Certificate,
    pub(crate) person: PersonRecord,
}

impl Node {
    pub(crate) async fn reconnect(&mut self, world: &World) {
        self.connection = self.endpoint.connect(world.peer, world.address).await.unwrap();
    }

    pub(crate) async fn exchange(&self) -> Exchange {
        let (sender, receiver) = self.connection.open_exchange().await.unwrap();
        Exchange { sender, receiver }
    }

    /// Sends a request in an exchange of its own, and returns the answer.
    pub(crate) async fn ask(&self, request: Request) -> Answer {
        let mut exchange = self.exchange().await;
        let may_go_on = matches!(request, Request::Find(_));
        exchange.send(request).await;
        let answer = exchange.receive().await.expect("an answer");
        assert!(may_go_on || exchange.receive().await.is_none(), "one answer");
        answer
    }

    pub(crate) async fn register(&self, token: &JoinToken) -> Answer {
        self.register_as(token, &self.certificate, &self.person).await
    }

    pub(crate) async fn register_as(
        &self,
        token: &JoinToken,
        certificate: &Certificate,
        person: &PersonRecord,
    ) -> Answer {
        self.ask(Request::Register(Register {
            token: Some(*token.expose_secret()),
            certificate: certificate.as_bytes()[..].into(),
            person: person.as_bytes().into(),
        }))
        .await
    }

    /// Gives the certificate a new key for the signatures of bundles, and returns this key.
    pub(crate) fn new_signing_key(&mut self, root: &Identity) -> Identity {
        let signing = identity();
        let keys = DeviceKeys { signing: *signing.public().ed25519(), ..*self.certificate.keys() };
        self.certificate = Certificate::issue(root.signing(), &keys, self.certificate.made_at());
        signing
    }

    /// Returns a frame of this node.
    pub(crate) fn frame(&self, sequence: u64, text: &[u8]) -> Vec<u8> {
        frame(self.peer, sequence, text)
    }

    /// Returns a prekey bundle of this node with a new key, signed by `signing`.
    pub(crate) fn bundle(&self, kind: PrekeyKind, signing: &Identity) -> PrekeyBundle {
        let key = x25519::SecretKey::generate(&mut OsRandom).unwrap().public_key();
        PrekeyBundle::issue(&self.certificate, kind, key, 1, |message| {
            signing.signing().sign(message)
        })
    }
}

pub(crate) fn frame(sender: PeerId, sequence: u64, text: &[u8]) -> Vec<u8> {
    let message = SealedMessage {
        scheme: Scheme::PAIRWISE,
        ciphertext: text.into(),
        ..SealedMessage::default()
    };
    let stamp = Stamp { sequence, timestamp: 0, sender: *sender.as_bytes() };
    let sealed = Sealed::<Message>::from_message(message);
    StoredFrame::vouched(&sealed, stamp, stored_limits()).unwrap()
}

pub(crate) fn put(targets: &[&Node], frame: &[u8]) -> Request {
    put_to(&targets.iter().map(|it| it.peer).collect::<Vec<_>>(), frame)
}

pub(crate) fn put_to(targets: &[PeerId], frame: &[u8]) -> Request {
    let targets: Vec<u8> = targets.iter().flat_map(|it| *it.as_bytes()).collect();
    Request::Put(Put { targets: targets.into(), frame: frame.into(), conversation: None })
}

/// The node's side of an exchange with the hub.
pub(crate) struct Exchange {
    pub(crate) sender: FrameSender,
    pub(crate) receiver: FrameReceiver,
}

impl Exchange {
    pub(crate) async fn send(&mut self, request: Request) {
        let payload = HubRequest::from(request).to_vec(payload_limits()).unwrap();
        self.send_bytes(payload).await;
    }

    pub(crate) async fn send_bytes(&mut self, payload: Vec<u8>) {
        // The hub may have ended the exchange already.
        let _ = self.sender.send(&Frame::new(Kind::Control, payload)).await;
    }

    /// Returns the next answer, or `None` at the end.
    pub(crate) async fn receive(&mut self) -> Option<Answer> {
        let received = timeout(TIMEOUT, self.receiver.receive()).await.expect("in time");
        let frame = received.ok()??;
        Some(HubAnswer::decode(&frame.payload, payload_limits()).unwrap().answer)
    }

    /// Returns true if no answer arrives for 300 ms.
    pub(crate) async fn is_silent(&mut self) -> bool {
        timeout(Duration::from_millis(300), self.receiver.receive()).await.is_err()
    }
}

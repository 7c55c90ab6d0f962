//! A hub whose answers a test controls.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;

use endseal_codec::Codec as _;
use endseal_codec::hub::{Answer, HubAnswer, HubRequest, Request};
use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::identity::{Identity, PublicIdentity};
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::OsRandom;
use endseal_delivery::payload_limits;
use endseal_keyring::{Invitation, JoinToken};
use endseal_node::messages::{
    HubClient, NodeFiles, SyncError, SyncReport, hub_limits, join, long_identity, sync,
};
use endseal_transport::{
    Accept, Connection, Endpoint, Frame, FrameReceiver, FrameSender, Kind, Policy, TransportKey,
};
use tokio::sync::watch;
use tokio::time::sleep;

use super::world::{Person, World};

/// Timeout of a node for an answer.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(2);

/// Returns the answers to a request of a peer; `None` if the hub is silent.
type Script = dyn Fn(PeerId, Request) -> Option<Vec<Answer>> + Send + Sync;

/// A slow connection: answers to a subscription are delayed, and it breaks after some of them.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    /// Delay before each answer.
    pub(crate) pace: Duration,
    /// Number of answers after which the connection ends.
    pub(crate) cut: usize,
}

impl Line {
    /// A connection without delays, which does not break.
    pub(crate) const FAST: Self = Self { pace: Duration::ZERO, cut: usize::MAX };
}

pub(crate) struct Liar {
    peer: PeerId,
    address: SocketAddr,
    _endpoint: Arc<Endpoint>,
}

impl Liar {
    /// Makes a hub that gives these answers to each request.
    pub(crate) fn new(
        script: impl Fn(PeerId, Request) -> Option<Vec<Answer>> + Send + Sync + 'static,
    ) -> Self {
        Self::behind(Line::FAST, script)
    }

    /// Makes a hub behind a slow connection.
    pub(crate) fn behind(
        line: Line,
        script: impl Fn(PeerId, Request) -> Option<Vec<Answer>> + Send + Sync + 'static,
    ) -> Self {
        Self::of(&Identity::generate(&mut OsRandom).unwrap(), line, script)
    }

    /// Makes a hub with the key of this identity.
    pub(crate) fn of(
        identity: &Identity,
        line: Line,
        script: impl Fn(PeerId, Request) -> Option<Vec<Answer>> + Send + Sync + 'static,
    ) -> Self {
        let key = TransportKey::new(identity);
        let here = "127.0.0.1:0".parse().unwrap();
        let accept = Accept::when(|_| true);
        let endpoint = Endpoint::bind_with(here, &key, Policy::default(), accept, hub_limits());
        let endpoint = Arc::new(endpoint.unwrap());
        let address = endpoint.local_address().unwrap();
        let (accepting, script) = (Arc::clone(&endpoint), Arc::new(script));
        tokio::spawn(async move {
            while let Some(connection) = accepting.accept().await {
                let script: Arc<Script> = script.clone();
                tokio::spawn(async move {
                    let (cut, broken) = watch::channel(false);
                    let cut = Arc::new(cut);
                    let peer = connection.peer();
                    let accepting = async {
                        while let Ok((sender, receiver)) = connection.accept_exchange().await {
                            let (script, cut) = (Arc::clone(&script), Arc::clone(&cut));
                            let broken = broken.clone();
                            tokio::spawn(async move {
                                let mut cut_off = broken.clone();
                                tokio::select! {
                                    () = answer(peer, sender, receiver, script, line, &cut) => {}
                                    _ = cut_off.wait_for(|it| *it) => {}
                                }
                            });
                        }
                    };
                    let mut cut_off = broken.clone();
                    tokio::select! {
                        () = accepting => {}
                        _ = cut_off.wait_for(|it| *it) => {}
                    }
                });
            }
        });
        Self { peer: key.peer_id(), address, _endpoint: endpoint }
    }

    /// Connects a device to the hub.
    pub(crate) async fn connect(&self, key: &TransportKey) -> (Endpoint, Connection) {
        let here = "127.0.0.1:0".parse().unwrap();
        let accept = Accept::none();
        let endpoint = Endpoint::bind_with(here, key, Policy::default(), accept, hub_limits());
        let endpoint = endpoint.unwrap();
        let connection = endpoint.connect(self.peer, self.address).await.unwrap();
        (endpoint, connection)
    }

    /// Makes a person who is registered at this hub.
    pub(crate) async fn member(&self, world: &World, name: &str) -> Person {
        let mut person = world.person(name);
        self.join(&mut person).await;
        person
    }

    /// Registers a device at this hub.
    pub(crate) async fn join(&self, person: &mut Person) {
        let token = JoinToken::from_bytes(&[7; 32]);
        let invitation = Invitation::new(self.peer, token, &["127.0.0.1:1"]).unwrap();
        let (_endpoint, connection) = self.connect(&person.key()).await;
        let hub = HubClient::new(&connection, TIMEOUT);
        join(&hub, &mut person.engine, &invitation, &person.record).await.unwrap();
    }

    /// Asks the hub for the long identity of a person.
    pub(crate) async fn look_up(
        &self,
        person: &mut Person,
        of: &PublicKey,
    ) -> Option<PublicIdentity> {
        let (_endpoint, connection) = self.connect(&person.key()).await;
        let hub = HubClient::new(&connection, TIMEOUT);
        long_identity(&hub, &mut person.engine, of).await.unwrap()
    }

    /// Runs a sync of a person who is registered at a hub.
    pub(crate) async fn visit(&self, person: &mut Person) -> (SyncReport, Result<(), SyncError>) {
        self.visit_at(person, "").await
    }

    /// [`Self::visit`] over a connection to this address.
    pub(crate) async fn visit_at(
        &self,
        person: &mut Person,
        address: &str,
    ) -> (SyncReport, Result<(), SyncError>) {
        person.meet();
        let (_endpoint, connection) = self.connect(&person.key()).await;
        let hub = HubClient::new(&connection, TIMEOUT).at(address);
        let mut report = SyncReport::default();
        let files = NodeFiles::new(&person.home);
        let result = sync(&hub, &mut person.engine, &person.record, &files, &mut report).await;
        (report, result)
    }
}

async fn answer(
    peer: PeerId,
    mut sender: FrameSender,
    mut receiver: FrameReceiver,
    script: Arc<Script>,
    line: Line,
    cut: &watch::Sender<bool>,
) {
    while let Ok(Some(frame)) = receiver.receive().await {
        let request = HubRequest::decode(&frame.payload, payload_limits()).unwrap().request;
        let is_slow = matches!(request, Request::Subscribe(_));
        let Some(answers) = script(peer, request) else { return core::future::pending().await };
        for (at, answer) in answers.into_iter().enumerate() {
            if is_slow {
                if at == line.cut {
                    cut.send_replace(true);
                }
                sleep(line.pace).await;
            }
            let payload = HubAnswer::from(answer).to_vec(payload_limits()).unwrap();
            if sender.send(&Frame::new(Kind::Control, payload)).await.is_err() {
                return;
            }
        }
    }
    let _ = sender.end().await;
}

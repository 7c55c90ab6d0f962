//! A hub that says what a test wants.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;

use endseal_codec::Codec as _;
use endseal_codec::hub::{Answer, HubAnswer, HubRequest, Request};
use endseal_crypto::identity::Identity;
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::OsRandom;
use endseal_delivery::payload_limits;
use endseal_node::messages::{HubClient, SyncError, SyncReport, hub_limits, sync};
use endseal_transport::{Accept, Endpoint, Frame, Kind, Policy, TransportKey};

use super::world::Person;

/// Answers to a request; none at all if the hub is silent.
type Script = dyn Fn(&Request) -> Option<Vec<Answer>> + Send + Sync;

pub(crate) struct Liar {
    peer: PeerId,
    address: SocketAddr,
    _endpoint: Arc<Endpoint>,
}

impl Liar {
    /// A hub that gives these answers to each request.
    pub(crate) fn new(
        script: impl Fn(&Request) -> Option<Vec<Answer>> + Send + Sync + 'static,
    ) -> Self {
        let key = TransportKey::new(&Identity::generate(&mut OsRandom).unwrap());
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
                    while let Ok((sender, receiver)) = connection.accept_exchange().await {
                        tokio::spawn(answer(sender, receiver, Arc::clone(&script)));
                    }
                });
            }
        });
        Self { peer: key.peer_id(), address, _endpoint: endpoint }
    }

    /// A visit of a person who is registered there.
    pub(crate) async fn visit(&self, person: &mut Person) -> (SyncReport, Result<(), SyncError>) {
        let here = "127.0.0.1:0".parse().unwrap();
        let key = person.key();
        let accept = Accept::nobody();
        let endpoint = Endpoint::bind_with(here, &key, Policy::default(), accept, hub_limits());
        let endpoint = endpoint.unwrap();
        let connection = endpoint.connect(self.peer, self.address).await.unwrap();
        let hub = HubClient::new(&connection, Duration::from_secs(2));
        let mut report = SyncReport::default();
        let result = sync(&hub, &mut person.engine, &person.record, &mut report).await;
        (report, result)
    }
}

async fn answer(
    mut sender: endseal_transport::FrameSender,
    mut receiver: endseal_transport::FrameReceiver,
    script: Arc<Script>,
) {
    while let Ok(Some(frame)) = receiver.receive().await {
        let request = HubRequest::decode(&frame.payload, payload_limits()).unwrap().request;
        let Some(answers) = script(&request) else { return core::future::pending().await };
        for answer in answers {
            let payload = HubAnswer::from(answer).to_vec(payload_limits()).unwrap();
            sender.send(&Frame::new(Kind::Control, payload)).await.unwrap();
        }
    }
    let _ = sender.end().await;
}

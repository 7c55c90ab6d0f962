//! Benchmark subject: this transport.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use endseal_transport::{Accept, Connection, Endpoint, Frame, Kind, Limits, Policy};

use crate::key;

pub(crate) struct Ours {
    pub(crate) client: Connection,
    server: Connection,
    _endpoints: [Endpoint; 2],
}

pub(crate) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

pub(crate) fn endpoints(ip: IpAddr, policy: Policy, limits: &Limits) -> [Endpoint; 2] {
    let here = SocketAddr::new(ip, 0);
    let accept = Accept::pinned([key(1, policy).peer_id()]);
    let client = Endpoint::bind_with(here, &key(1, policy), policy, Accept::none(), limits.clone());
    let server = Endpoint::bind_with(here, &key(2, policy), policy, accept, limits.clone());
    [client.unwrap(), server.unwrap()]
}

impl Ours {
    pub(crate) async fn connect(policy: Policy, limits: &Limits) -> Self {
        Self::connect_at(LOOPBACK, policy, limits).await
    }

    /// Connects two sockets at the given address of this machine.
    pub(crate) async fn connect_at(ip: IpAddr, policy: Policy, limits: &Limits) -> Self {
        let [client, server] = endpoints(ip, policy, limits);
        let address = server.local_address().unwrap();
        let connecting = client.connect(server.peer_id(), address);
        let (connected, accepted) = tokio::join!(connecting, server.accept());
        let (connected, accepted) = (connected.unwrap(), accepted.unwrap());
        Self { client: connected, server: accepted, _endpoints: [client, server] }
    }

    pub(crate) async fn push(&self, count: u32, len: u32) {
        let server = self.server.clone();
        let receiving = tokio::spawn(async move {
            let mut messages = server.accept_messages().await.unwrap();
            let mut received = 0;
            while let Some(frame) = messages.receive().await.unwrap() {
                std::hint::black_box(frame);
                received += 1;
            }
            assert_eq!(received, count);
        });
        let frame = Frame::new(Kind::Message, vec![7; len as usize]);
        let mut messages = self.client.open_messages().await.unwrap();
        for _ in 0..count {
            messages.feed(&frame).await.unwrap();
        }
        messages.end().await.unwrap();
        receiving.await.unwrap();
    }

    pub(crate) async fn echo(&self, count: u32, len: u32) {
        let server = self.server.clone();
        let answering = tokio::spawn(async move {
            let (mut send, mut receive) = server.accept_exchange().await.unwrap();
            while let Some(frame) = receive.receive().await.unwrap() {
                send.send(&frame).await.unwrap();
            }
            send.end().await.unwrap();
        });
        let (mut send, mut receive) = self.client.open_exchange().await.unwrap();
        let frame = Frame::new(Kind::Message, vec![7; len as usize]);
        for _ in 0..count {
            send.send(&frame).await.unwrap();
            receive.receive().await.unwrap().unwrap();
        }
        send.end().await.unwrap();
        answering.await.unwrap();
    }

    /// Returns the share of sent packets that were lost.
    pub(crate) fn lost(&self) -> f64 {
        let path = self.client.path();
        path.packets_lost as f64 / path.packets_sent as f64
    }
}

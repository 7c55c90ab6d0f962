//! Plain quinn with its own defaults. Each message is preceded by its length.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, Connection, Endpoint, Incoming, ReadExactError, RecvStream, SendStream,
    ServerConfig,
};

use super::tls::{Keys, Strength};
use crate::transport::carrier::{Carrier, Failure, Who, Wire};
use crate::transport::pair::{Pair, halves};
use crate::transport::relay::HERE;
use crate::transport::work::{Fault, failed};
use crate::transport::{PINNED, PINNED_POST_QUANTUM, Transport, ends};

pub(super) const CRATES: &[&str] = &["quinn", "quinn-proto", "rustls", "aws-lc-rs"];
pub(super) const SETTINGS: &str = "https://docs.rs/quinn/0.11.12/quinn/struct.TransportConfig.html";

pub(super) const POST_QUANTUM: Transport = Transport {
    name: "quinn",
    about: "QUIC as quinn sets it up; X25519MLKEM768, ML-DSA-65 raw keys of both sides",
    crates: CRATES,
    settings: SETTINGS,
    properties: PINNED_POST_QUANTUM,
    prepare: |work, inputs| ends(Quinn::new(Strength::PostQuantum)?, work, inputs),
};

pub(super) const CLASSICAL: Transport = Transport {
    name: "quinn-classical",
    about: "QUIC as quinn sets it up; X25519, Ed25519 raw keys of both sides",
    crates: CRATES,
    settings: SETTINGS,
    properties: PINNED,
    prepare: |work, inputs| ends(Quinn::new(Strength::Classical)?, work, inputs),
};

/// Server name for TLS, which requires one; it is not sent.
const NO_NAME: &str = "peer.invalid";

pub(super) struct Quinn {
    keys: Keys,
}

impl Quinn {
    pub(super) fn new(strength: Strength) -> Result<Self, Fault> {
        Ok(Self { keys: Keys::new(strength).map_err(failed)? })
    }
}

impl Carrier for Quinn {
    type Listener = Endpoint;
    type Dialer = Endpoint;
    type Incoming = Incoming;
    type Connection = Connection;
    type Stream = Pair<SendStream, RecvStream>;

    const WIRE: Wire = Wire::Udp;

    fn listen(&self) -> Result<(Endpoint, SocketAddr), Failure> {
        let tls = QuicServerConfig::try_from(self.keys.server_config()?)?;
        let endpoint = Endpoint::server(ServerConfig::with_crypto(Arc::new(tls)), HERE)?;
        let address = endpoint.local_addr()?;
        Ok((endpoint, address))
    }

    fn dialer(&self, who: Who) -> Result<Endpoint, Failure> {
        let tls = QuicClientConfig::try_from(self.keys.client_config(who)?)?;
        let mut endpoint = Endpoint::client(HERE)?;
        endpoint.set_default_client_config(ClientConfig::new(Arc::new(tls)));
        Ok(endpoint)
    }

    async fn accept(listener: &Endpoint) -> Result<Option<Incoming>, Failure> {
        Ok(listener.accept().await)
    }

    async fn welcome(incoming: Incoming) -> Result<(Connection, Self::Stream), Failure> {
        let connection = incoming.await?;
        let pair = Pair::new(connection.accept_bi().await?);
        Ok((connection, pair))
    }

    async fn connect(
        dialer: &Endpoint,
        server: SocketAddr,
    ) -> Result<(Connection, Self::Stream), Failure> {
        let connection = dialer.connect(server, NO_NAME)?.await?;
        let pair = Pair::new(connection.open_bi().await?);
        Ok((connection, pair))
    }
}

halves!(SendStream, RecvStream, ReadExactError::FinishedEarly, read_chunks);

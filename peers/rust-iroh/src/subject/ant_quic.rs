//! ant-quic by its own QUIC endpoint, without its peer discovery and NAT traversal; otherwise with
//! its defaults. Each message is preceded by its length.

use std::net::SocketAddr;
use std::sync::Arc;

use ant_quic::crypto::raw_public_keys::RawPublicKeyConfigBuilder;
use ant_quic::crypto::raw_public_keys::key_utils::{MlDsaPublicKey, MlDsaSecretKey};
use ant_quic::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use ant_quic::high_level::{
    Connection, Endpoint, Incoming, ReadExactError, RecvStream, SendStream,
};
use ant_quic::{ClientConfig, ServerConfig, generate_ml_dsa_keypair};
use bytes::Bytes;
use rustls::client::Resumption;

use crate::transport::carrier::{Carrier, Failure, Who, Wire};
use crate::transport::pair::{Pair, halves};
use crate::transport::relay::HERE;
use crate::transport::work::{Fault, failed};
use crate::transport::{PINNED_POST_QUANTUM, Transport, ends};

pub(super) const SUBJECT: Transport = Transport {
    name: "ant-quic",
    about: "ant-quic's QUIC endpoints alone; MLKEM768, ML-DSA-65 raw keys of both sides",
    crates: &["ant-quic", "saorsa-pqc", "rustls", "aws-lc-rs"],
    settings: "https://docs.rs/ant-quic/0.27.61/ant_quic/config/struct.TransportConfig.html",
    properties: PINNED_POST_QUANTUM,
    prepare: |work, inputs| ends(AntQuic::new()?, work, inputs),
};

/// Server name for TLS, which requires one.
const NO_NAME: &str = "peer.invalid";

type Keys = (MlDsaPublicKey, MlDsaSecretKey);

/// Keys of the two ends, and of a third party.
struct AntQuic {
    client: Keys,
    server: Keys,
    outsider: Keys,
}

impl AntQuic {
    fn new() -> Result<Self, Fault> {
        let key = || generate_ml_dsa_keypair().map_err(failed);
        Ok(Self { client: key()?, server: key()?, outsider: key()? })
    }
}

impl Carrier for AntQuic {
    type Listener = Endpoint;
    type Dialer = Endpoint;
    type Incoming = Incoming;
    type Connection = Connection;
    type Stream = Pair<SendStream, RecvStream>;

    const WIRE: Wire = Wire::Udp;

    fn listen(&self) -> Result<(Endpoint, SocketAddr), Failure> {
        let (public, secret) = self.server.clone();
        let mut tls = RawPublicKeyConfigBuilder::new()
            .with_server_key(public, secret)
            .add_trusted_key(self.client.0.clone())
            .build_server_config()?;
        // Sessions are not resumed, so no tickets are sent.
        tls.send_tls13_tickets = 0;
        let tls = QuicServerConfig::try_from(tls)?;
        let endpoint = Endpoint::server(ServerConfig::with_crypto(Arc::new(tls)), HERE)?;
        let address = endpoint.local_addr()?;
        Ok((endpoint, address))
    }

    fn dialer(&self, who: Who) -> Result<Endpoint, Failure> {
        let own = if who == Who::Outsider { &self.outsider } else { &self.client };
        let meant = if who == Who::Misled { &self.outsider } else { &self.server };
        let (public, secret) = own.clone();
        let mut tls = RawPublicKeyConfigBuilder::new()
            .with_client_key(public, secret)
            .add_trusted_key(meant.0.clone())
            .build_client_config()?;
        tls.resumption = Resumption::disabled();
        let tls = QuicClientConfig::try_from(tls)?;
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

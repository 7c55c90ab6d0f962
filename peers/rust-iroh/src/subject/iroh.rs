//! iroh with both endpoints on this machine: no relays, no address lookup, no port mapping by
//! routers; otherwise with its defaults. Each message is preceded by its length.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use iroh::endpoint::transports::{PathSelection, PathSelectionContext, PathSelector};
use iroh::endpoint::{
    Builder, Connection, Incoming, PortmapperConfig, ReadExactError, RecvStream, RelayMode,
    SendStream, presets,
};
use iroh::{Endpoint, EndpointAddr, EndpointId, SecretKey};
use tokio::runtime::Handle;

use crate::transport::carrier::{Carrier, Failure, Who, Wire};
use crate::transport::pair::{Pair, halves};
use crate::transport::relay::HERE;
use crate::transport::{PINNED, Transport, ends};

pub(super) const SUBJECT: Transport = Transport {
    name: "iroh",
    about: "iroh without relays and lookup; X25519, Ed25519 raw keys of both sides, ring",
    crates: &["iroh", "noq", "noq-proto", "rustls", "ring"],
    settings: "https://docs.rs/iroh/1.4.1/iroh/endpoint/struct.Builder.html",
    properties: PINNED,
    prepare: |work, inputs| ends(Iroh::new(), work, inputs),
};

/// Name of the application protocol.
const ALPN: &[u8] = b"peer";

/// Keys of the two ends, and of a third party.
struct Iroh {
    client: SecretKey,
    server: SecretKey,
    outsider: SecretKey,
}

struct Listener {
    endpoint: Endpoint,
    client: EndpointId,
}

struct Dialer {
    endpoint: Endpoint,
    server: EndpointId,
}

impl Iroh {
    fn new() -> Self {
        let [client, server, outsider] = std::array::from_fn(|_| SecretKey::generate());
        Self { client, server, outsider }
    }
}

/// Returns the settings of every endpoint. Tickets are not kept, so every handshake is complete.
fn builder(key: &SecretKey) -> Result<Builder, Failure> {
    Ok(Endpoint::builder(presets::Minimal)
        .secret_key(key.clone())
        .relay_mode(RelayMode::Disabled)
        .portmapper_config(PortmapperConfig::Disabled)
        .max_tls_tickets(0)
        .path_selector(Arc::new(AsDialed))
        .clear_ip_transports()
        .bind_addr(HERE)?)
}

/// Binds an endpoint. Called on a thread of the runtime that it belongs to.
fn bind(builder: Builder) -> Result<Endpoint, Failure> {
    let side = Handle::current();
    Ok(side.block_on(side.spawn(builder.bind()))??)
}

/// Path selection that keeps the path on which a connection was opened. By default an endpoint
/// behind a relay of the measurement would switch to the direct path as soon as that is 5 ms
/// shorter. Without a relay there is only one path.
#[derive(Debug)]
struct AsDialed;

impl PathSelector for AsDialed {
    fn select(&self, paths: &PathSelectionContext<'_>) -> PathSelection {
        let mut selection = PathSelection::none();
        // The first path is selected. After that an empty selection keeps it.
        if paths.current().is_none()
            && let Some(first) = paths.paths().next()
        {
            selection.set(&first);
        }
        selection
    }
}

impl Carrier for Iroh {
    type Listener = Listener;
    type Dialer = Dialer;
    type Incoming = (Incoming, EndpointId);
    type Connection = Connection;
    type Stream = Pair<SendStream, RecvStream>;

    const WIRE: Wire = Wire::Udp;

    fn listen(&self) -> Result<(Listener, SocketAddr), Failure> {
        let endpoint = bind(builder(&self.server)?.alpns(vec![ALPN.to_vec()]))?;
        let address = *endpoint.bound_sockets().first().ok_or("it is bound to no address")?;
        Ok((Listener { endpoint, client: self.client.public() }, address))
    }

    fn dialer(&self, who: Who) -> Result<Dialer, Failure> {
        let own = if who == Who::Outsider { &self.outsider } else { &self.client };
        let meant = if who == Who::Misled { &self.outsider } else { &self.server };
        Ok(Dialer { endpoint: bind(builder(own)?)?, server: meant.public() })
    }

    async fn accept(listener: &Listener) -> Result<Option<Self::Incoming>, Failure> {
        Ok(listener.endpoint.accept().await.map(|incoming| (incoming, listener.client)))
    }

    async fn welcome(
        (incoming, client): Self::Incoming,
    ) -> Result<(Connection, Self::Stream), Failure> {
        let connection = incoming.await?;
        // iroh accepts every endpoint that has a key; the application must check which one may
        // stay.
        if connection.remote_id() != client {
            connection.close(0_u32.into(), b"outsider");
            return Err("an unknown endpoint".into());
        }
        let pair = Pair::new(connection.accept_bi().await?);
        Ok((connection, pair))
    }

    async fn connect(
        dialer: &Dialer,
        server: SocketAddr,
    ) -> Result<(Connection, Self::Stream), Failure> {
        let server = EndpointAddr::new(dialer.server).with_ip_addr(server);
        let connection = dialer.endpoint.connect(server, ALPN).await?;
        let pair = Pair::new(connection.open_bi().await?);
        Ok((connection, pair))
    }
}

halves!(SendStream, RecvStream, ReadExactError::FinishedEarly, read_many_chunks);

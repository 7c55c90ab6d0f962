//! UDP socket for outgoing and incoming connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use endseal_crypto::peer_id::PeerId;
use quinn::{Connecting, TokioRuntime};
use tokio::sync::mpsc;
use tokio::time;

use crate::close::CloseCode;
use crate::connect_attempt::ConnectAttempt;
use crate::connection::Connection;
use crate::early::EarlyConnection;
use crate::error::{BindError, ConnectError};
use crate::handshake::EarlyData;
use crate::incoming;
use crate::key::TransportKey;
use crate::limits::Limits;
use crate::pin::Accept;
use crate::policy::Policy;
use crate::shared::Shared;
use crate::statistics::Statistics;
use crate::{socket, tls};

/// Server name, which the TLS library requires; it is not sent.
const NO_NAME: &str = "peer.invalid";

/// A UDP socket that makes and accepts connections with one key. Clones are handles of the same
/// endpoint; it is closed when the last one is dropped.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "it holds a key")]
pub struct Endpoint(Arc<Inner>);

struct Inner {
    quinn: quinn::Endpoint,
    shared: Arc<Shared>,
    incoming: tokio::sync::Mutex<mpsc::Receiver<Connection>>,
}

impl Endpoint {
    /// Opens an endpoint at `address` with the default [`Limits`]. Port 0 selects a free port.
    /// `accept` decides which peers may connect to it.
    ///
    /// # Errors
    /// [`BindError`] if the socket cannot be opened, or the key does not fit the policy.
    ///
    /// # Panics
    /// Panics outside a tokio runtime with I/O and time enabled.
    pub fn bind(
        address: SocketAddr,
        key: &TransportKey,
        policy: Policy,
        accept: Accept,
    ) -> Result<Self, BindError> {
        Self::bind_with(address, key, policy, accept, Limits::default())
    }

    /// Opens an endpoint like [`Self::bind`], with the given limits.
    ///
    /// # Errors
    /// [`BindError`] if the socket cannot be opened, or the key does not fit the policy.
    ///
    /// # Panics
    /// Panics outside a tokio runtime with I/O and time enabled.
    pub fn bind_with(
        address: SocketAddr,
        key: &TransportKey,
        policy: Policy,
        accept: Accept,
        limits: Limits,
    ) -> Result<Self, BindError> {
        if !key.fits(policy) {
            return Err(BindError::Key);
        }
        let tls = tls::server(key, policy, accept.clone(), limits.early > 0)?;
        let mut server = quinn::ServerConfig::with_crypto(Arc::new(tls));
        server
            .migration(true)
            .max_incoming(limits.half_open)
            // Enough for the first flight of a handshake; early data beyond it is retransmitted.
            .incoming_buffer_size(64 * 1024)
            .incoming_buffer_size_total(4 * 1024 * 1024);
        let socket = socket::bind(address, limits.socket_buffer)?;
        let runtime = Arc::new(TokioRuntime);
        let config = limits.endpoint(key);
        let quinn = quinn::Endpoint::new(config, Some(server.clone()), socket, runtime)?;
        let (taken, incoming) = mpsc::channel(limits.backlog.max(1));
        let shared = Arc::new(Shared::new(key.clone(), policy, accept, limits, server));
        tokio::spawn(incoming::run(quinn.clone(), shared.clone(), taken));
        let incoming = tokio::sync::Mutex::new(incoming);
        Ok(Self(Arc::new(Inner { quinn, shared, incoming })))
    }

    /// Returns the peer id of this endpoint's key, which others pin.
    #[must_use]
    pub fn peer_id(&self) -> PeerId {
        self.0.shared.key.peer_id()
    }

    /// Returns the local address of the socket, with the port that the system chose.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn local_address(&self) -> std::io::Result<SocketAddr> {
        self.0.quinn.local_addr()
    }

    /// Connects to `peer` at `address`. The handshake takes one round trip with every policy.
    ///
    /// The call returns when the peer has proved its key. The peer decides a moment later if it
    /// accepts this side's key; see [`Connection::confirmed`].
    ///
    /// # Errors
    /// [`ConnectError`] if the peer does not answer, has another key, or shares no policy with this
    /// side.
    pub async fn connect(
        &self,
        peer: PeerId,
        address: SocketAddr,
    ) -> Result<Connection, ConnectError> {
        let (attempt, connecting) = self.dial(peer, address)?;
        let started = Instant::now();
        let finished = async {
            let quinn = connecting.await.map_err(|error| attempt.failed(error))?;
            attempt.start(quinn, started, EarlyData::NotUsed, None).await
        };
        let timeout = attempt.limits().handshake_timeout;
        time::timeout(timeout, finished).await.unwrap_or_else(|_| Err(attempt.timed_out()))
    }

    /// Connects to `peer` and lets idempotent frames travel with the first packet (0-RTT). This
    /// needs an earlier connection to the same peer, and [`Limits::early`] above 0 on both sides;
    /// otherwise the frames are sent after the handshake.
    ///
    /// # Errors
    /// [`ConnectError`] if the attempt cannot start: the endpoint is closed or the address is
    /// invalid.
    pub async fn connect_early(
        &self,
        peer: PeerId,
        address: SocketAddr,
    ) -> Result<EarlyConnection, ConnectError> {
        let (attempt, connecting) = self.dial(peer, address)?;
        EarlyConnection::new(attempt, connecting).await
    }

    /// Returns the next incoming connection; `None` when the endpoint is closed.
    ///
    /// If [`Limits::early`] is not 0, a connection may be returned before its handshake is
    /// complete. Message streams and exchanges that are accepted before that yield idempotent
    /// frames only.
    pub async fn accept(&self) -> Option<Connection> {
        self.0.incoming.lock().await.recv().await
    }

    /// Replaces the socket by a new one at `address`. Outgoing connections survive; their peers see
    /// a migrated path.
    ///
    /// # Errors
    /// [`BindError::Socket`] if the new socket cannot be opened; the old one stays in use.
    pub fn rebind(&self, address: SocketAddr) -> Result<(), BindError> {
        let socket = socket::bind(address, self.0.shared.limits.socket_buffer)?;
        Ok(self.0.quinn.rebind(socket)?)
    }

    /// Returns the totals since the endpoint was opened, and the current numbers of connections and
    /// handshakes.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let Shared { counters, half_open, admissions, .. } = &*self.0.shared;
        Statistics {
            connections: admissions.len() as u64,
            half_open: half_open.len() as u64,
            ..counters.snapshot()
        }
    }

    /// Closes all connections with `code`, and waits until the close messages are sent and the
    /// connections have shut down.
    pub async fn close(&self, code: CloseCode) {
        self.0.quinn.close(code.to_varint(), b"");
        self.0.quinn.wait_idle().await;
    }

    fn dial(
        &self,
        peer: PeerId,
        address: SocketAddr,
    ) -> Result<(ConnectAttempt, Connecting), ConnectError> {
        let shared = self.0.shared.clone();
        let tls = shared.client(peer).map_err(|error| ConnectError::Protocol(error.to_string()))?;
        let mut config = quinn::ClientConfig::new(tls);
        config.transport_config(shared.limits.transport(address));
        let connecting = self.0.quinn.connect_with(config, address, NO_NAME);
        let connecting = connecting.map_err(|error| match error {
            quinn::ConnectError::EndpointStopping => ConnectError::EndpointClosed,
            quinn::ConnectError::InvalidRemoteAddress(_) => ConnectError::Address,
            other => ConnectError::Protocol(other.to_string()),
        })?;
        Ok((ConnectAttempt::new(shared, peer), connecting))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Ends the task that accepts incoming connections, which holds a handle too.
        self.quinn.close(CloseCode::Done.to_varint(), b"");
    }
}

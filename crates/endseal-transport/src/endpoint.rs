//! One socket, from which connections go out and to which they come in.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use endseal_crypto::peer_id::PeerId;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::rustls::pki_types::CertificateDer;
use quinn::{Connecting, ConnectionError, TokioRuntime};
use tokio::sync::{mpsc, watch};
use tokio::time;

use crate::admission::{Admissions, ConnectionPermit};
use crate::close::CloseCode;
use crate::conn_handle::ConnHandle;
use crate::connection::{Connection, Parts, open_control};
use crate::early::EarlyConnection;
use crate::error::{BindError, ConnectError};
use crate::half_open::{Bounds, HalfOpen};
use crate::handshake::{EarlyData, HandshakeInfo};
use crate::incoming;
use crate::key::TransportKey;
use crate::limits::Limits;
use crate::pin::Accept;
use crate::policy::Policy;
use crate::statistics::{Counters, Statistics};
use crate::{socket, tls};

/// What stands where TLS wants a name; it is not sent.
const NO_NAME: &str = "peer.invalid";

/// One socket, from which connections go out and to which they come in. Clones are handles of the
/// same one; it is closed when the last is dropped.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "it holds a key")]
pub struct Endpoint(Arc<Inner>);

struct Inner {
    quinn: quinn::Endpoint,
    shared: Arc<Shared>,
    incoming: tokio::sync::Mutex<mpsc::Receiver<Connection>>,
}

/// What outgoing and incoming connections share.
pub(crate) struct Shared {
    pub(crate) key: TransportKey,
    pub(crate) policy: Policy,
    pub(crate) accept: Accept,
    pub(crate) limits: Limits,
    pub(crate) counters: Arc<Counters>,
    pub(crate) half_open: Arc<HalfOpen>,
    pub(crate) admissions: Arc<Admissions>,
    server: quinn::ServerConfig,
    /// Kept for early data alone: sessions belong to a configuration, and that to a peer.
    clients: Mutex<HashMap<PeerId, Arc<QuicClientConfig>>>,
}

impl Endpoint {
    /// Opens a socket at `address` (port 0: any), with default [`Limits`].
    ///
    /// # Errors
    /// [`BindError`].
    ///
    /// # Panics
    /// Outside a tokio runtime with I/O and time, as every function of tokio.
    pub fn bind(
        address: SocketAddr,
        key: &TransportKey,
        policy: Policy,
        accept: Accept,
    ) -> Result<Self, BindError> {
        Self::bind_with(address, key, policy, accept, Limits::default())
    }

    /// [`Self::bind`] with other limits.
    ///
    /// # Errors
    /// [`BindError`].
    ///
    /// # Panics
    /// Outside a tokio runtime with I/O and time, as every function of tokio.
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
            // What a handshake's first flight needs; early data beyond it is sent again.
            .incoming_buffer_size(64 * 1024)
            .incoming_buffer_size_total(4 * 1024 * 1024);
        let socket = socket::bind(address, limits.socket_buffer)?;
        let runtime = Arc::new(TokioRuntime);
        let config = limits.endpoint();
        let quinn = quinn::Endpoint::new(config, Some(server.clone()), socket, runtime)?;
        let (taken, incoming) = mpsc::channel(limits.backlog.max(1));
        let half_open = HalfOpen::new(Bounds {
            total: limits.half_open,
            per_source: limits.half_open_per_source,
            retry_above: limits.retry_above,
            held: limits.second_flight_timeout,
        });
        let admissions = Admissions::new(limits.connections, limits.connections_per_peer);
        let shared = Arc::new(Shared {
            key: key.clone(),
            policy,
            accept,
            limits,
            counters: Arc::default(),
            half_open,
            admissions,
            server,
            clients: Mutex::default(),
        });
        tokio::spawn(incoming::run(quinn.clone(), shared.clone(), taken));
        let incoming = tokio::sync::Mutex::new(incoming);
        Ok(Self(Arc::new(Inner { quinn, shared, incoming })))
    }

    /// The id of this side.
    #[must_use]
    pub fn peer_id(&self) -> PeerId {
        self.0.shared.key.peer_id()
    }

    /// The address of the socket.
    ///
    /// # Errors
    /// That of the system.
    pub fn local_address(&self) -> std::io::Result<SocketAddr> {
        self.0.quinn.local_addr()
    }

    /// Connects to `peer`, who is thought to be at `address`. One round trip, whatever the policy.
    ///
    /// Succeeds when the peer has proved its key; that it accepts this side's is known a moment
    /// later (see [`Connection::confirmed`]).
    ///
    /// # Errors
    /// [`ConnectError`].
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
        let patience = attempt.limits().handshake_timeout;
        time::timeout(patience, finished).await.unwrap_or_else(|_| Err(attempt.timed_out()))
    }

    /// Connects to `peer` and lets idempotent frames travel with the first packet, if there was a
    /// connection to it before and [`Limits::early`] is not 0 on both sides.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect_early(
        &self,
        peer: PeerId,
        address: SocketAddr,
    ) -> Result<EarlyConnection, ConnectError> {
        let (attempt, connecting) = self.dial(peer, address)?;
        EarlyConnection::new(attempt, connecting).await
    }

    /// The next connection from outside; `None` when the endpoint is closed.
    ///
    /// With [`Limits::early`] it may come before its handshake is complete. Message streams and
    /// exchanges that were opened that early then yield nothing but idempotent frames.
    pub async fn accept(&self) -> Option<Connection> {
        self.0.incoming.lock().await.recv().await
    }

    /// Goes on with another socket, at another address. Connections to others survive.
    ///
    /// # Errors
    /// [`BindError::Socket`]; the old socket stays in use.
    pub fn rebind(&self, address: SocketAddr) -> Result<(), BindError> {
        let socket = socket::bind(address, self.0.shared.limits.socket_buffer)?;
        Ok(self.0.quinn.rebind(socket)?)
    }

    /// Totals so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let Shared { counters, half_open, admissions, .. } = &*self.0.shared;
        Statistics {
            connections: admissions.len() as u64,
            half_open: half_open.len() as u64,
            ..counters.snapshot()
        }
    }

    /// Closes all connections and waits until their peers have been told.
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
        Ok((ConnectAttempt { shared, peer }, connecting))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Ends the task that takes incoming connections, which has a handle too.
        self.quinn.close(CloseCode::Done.to_varint(), b"");
    }
}

impl Shared {
    fn client(&self, peer: PeerId) -> Result<Arc<QuicClientConfig>, BindError> {
        let early = self.limits.early > 0;
        if !early {
            return tls::client(&self.key, self.policy, peer, early).map(Arc::new);
        }
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = clients.get(&peer) {
            return Ok(known.clone());
        }
        if clients.len() >= tls::SESSIONS {
            // Sessions only save time, so forgetting all of them is cheap and needs no bookkeeping.
            clients.clear();
        }
        let made = Arc::new(tls::client(&self.key, self.policy, peer, early)?);
        clients.insert(peer, made.clone());
        Ok(made)
    }

    /// How a connection from `remote` is served.
    pub(crate) fn server(&self, remote: SocketAddr) -> Arc<quinn::ServerConfig> {
        let mut config = self.server.clone();
        config.transport_config(self.limits.transport(remote));
        Arc::new(config)
    }

    pub(crate) fn handle(&self, quinn: quinn::Connection) -> ConnHandle {
        let (counters, send_window) = (self.counters.clone(), self.limits.send_window);
        ConnHandle { quinn, counters, send_window }
    }

    /// A connection from what the handshake left.
    pub(crate) fn parts(
        &self,
        quinn: quinn::Connection,
        peer: PeerId,
        handshake: HandshakeInfo,
        control: quinn::SendStream,
        complete: watch::Receiver<bool>,
        permit: ConnectionPermit,
    ) -> Parts {
        Parts {
            handle: self.handle(quinn),
            peer,
            handshake,
            limits: self.limits.frames(),
            control,
            complete,
            control_timeout: self.limits.handshake_timeout,
            permit,
        }
    }
}

/// One outgoing connection in the making.
pub(crate) struct ConnectAttempt {
    shared: Arc<Shared>,
    peer: PeerId,
}

impl ConnectAttempt {
    pub(crate) fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    pub(crate) fn handle(&self, quinn: quinn::Connection) -> ConnHandle {
        self.shared.handle(quinn)
    }

    pub(crate) fn count_early(&self, accepted: bool) {
        let counters = &self.shared.counters;
        Counters::add(
            if accepted { &counters.early_accepted } else { &counters.early_rejected },
            1,
        );
    }

    /// The connection, once the peer has proved its key.
    pub(crate) async fn start(
        &self,
        quinn: quinn::Connection,
        started: Instant,
        early: EarlyData,
        control: Option<quinn::SendStream>,
    ) -> Result<Connection, ConnectError> {
        let shared = &self.shared;
        let handshake = HandshakeInfo::of(&quinn, shared.policy, started, early);
        // TLS has compared it; a resumed session has it from the first handshake.
        if peer_of(&quinn) != Some(self.peer) {
            quinn.close(CloseCode::Refused.to_varint(), b"");
            Counters::add(&shared.counters.handshakes_failed, 1);
            return Err(ConnectError::WrongPeer);
        }
        let Some(permit) = shared.admissions.outgoing() else {
            quinn.close(CloseCode::Busy.to_varint(), b"");
            return Err(ConnectError::Busy);
        };
        let control = match control {
            Some(control) => control,
            None => {
                let limits = shared.limits.frames();
                match open_control(&quinn, limits).await {
                    Ok(control) => control,
                    Err(_) => return Err(self.failed(quinn.closed().await)),
                }
            }
        };
        Counters::add(&shared.counters.connected, 1);
        let (_, complete) = watch::channel(true);
        let peer = self.peer;
        Ok(Connection::start(shared.parts(quinn, peer, handshake, control, complete, permit)))
    }

    /// What it means that nobody answered.
    pub(crate) fn timed_out(&self) -> ConnectError {
        Counters::add(&self.shared.counters.handshakes_failed, 1);
        ConnectError::TimedOut
    }

    /// What a failed handshake means.
    pub(crate) fn failed(&self, error: ConnectionError) -> ConnectError {
        Counters::add(&self.shared.counters.handshakes_failed, 1);
        let error = ConnectError::from(error);
        if error == ConnectError::WrongPeer {
            Counters::add(&self.shared.counters.peers_refused, 1);
        }
        error
    }
}

/// The id of the key that the other side has proved.
pub(crate) fn peer_of(quinn: &quinn::Connection) -> Option<PeerId> {
    let chain = quinn.peer_identity()?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    chain.first().map(|spki| PeerId::of_spki(spki))
}

impl From<ConnectionError> for ConnectError {
    fn from(error: ConnectionError) -> Self {
        // Alerts of TLS 1.3 (RFC 8446, 6.2) as QUIC carries them, and the code of a server that
        // takes no connection (RFC 9000, 20.1).
        const ACCESS_DENIED: u64 = crate::close::ALERT_ACCESS_DENIED;
        const DECRYPT_ERROR: u64 = 0x100 + 51;
        const NOTHING_IN_COMMON: [u64; 7] = [
            0x100 + 40,  // handshake_failure
            0x100 + 43,  // unsupported_certificate
            0x100 + 47,  // illegal_parameter
            0x100 + 70,  // protocol_version
            0x100 + 71,  // insufficient_security
            0x100 + 109, // missing_extension
            0x100 + 120, // no_application_protocol
        ];
        const CONNECTION_REFUSED: u64 = 2;
        match error {
            ConnectionError::TransportError(own) => match u64::from(own.code) {
                ACCESS_DENIED | DECRYPT_ERROR => Self::WrongPeer,
                code if NOTHING_IN_COMMON.contains(&code) => Self::Policy,
                _ => Self::Protocol(own.to_string()),
            },
            ConnectionError::ConnectionClosed(close) => match u64::from(close.error_code) {
                ACCESS_DENIED | DECRYPT_ERROR => Self::Refused,
                CONNECTION_REFUSED => Self::Busy,
                code if NOTHING_IN_COMMON.contains(&code) => Self::Policy,
                _ => Self::Protocol(close.to_string()),
            },
            ConnectionError::ApplicationClosed(close) => {
                match CloseCode::of_number(close.error_code.into_inner()) {
                    CloseCode::Refused => Self::Refused,
                    CloseCode::Busy => Self::Busy,
                    code => Self::Protocol(code.to_string()),
                }
            }
            ConnectionError::TimedOut => Self::TimedOut,
            ConnectionError::LocallyClosed => Self::EndpointClosed,
            other => Self::Protocol(other.to_string()),
        }
    }
}

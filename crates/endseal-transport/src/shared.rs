//! Settings, limits and counters of an endpoint.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use endseal_crypto::peer_id::PeerId;
use quinn::crypto::rustls::QuicClientConfig;
use tokio::sync::watch;

use crate::admission::{Admissions, ConnectionPermit};
use crate::conn_handle::ConnHandle;
use crate::connection::Parts;
use crate::error::BindError;
use crate::half_open::{Bounds, HalfOpen};
use crate::handshake::HandshakeInfo;
use crate::key::TransportKey;
use crate::limits::Limits;
use crate::pin::Accept;
use crate::policy::Policy;
use crate::statistics::Counters;
use crate::tls;

/// State of an endpoint that its outgoing and incoming connections share.
pub(crate) struct Shared {
    pub(crate) key: TransportKey,
    pub(crate) policy: Policy,
    pub(crate) accept: Accept,
    pub(crate) limits: Limits,
    pub(crate) counters: Arc<Counters>,
    pub(crate) half_open: Arc<HalfOpen>,
    pub(crate) admissions: Arc<Admissions>,
    server: quinn::ServerConfig,
    /// Used for early data only: a TLS session belongs to a configuration, and that to one peer.
    clients: Mutex<HashMap<PeerId, Arc<QuicClientConfig>>>,
}

impl Shared {
    pub(crate) fn new(
        key: TransportKey,
        policy: Policy,
        accept: Accept,
        limits: Limits,
        server: quinn::ServerConfig,
    ) -> Self {
        let half_open = HalfOpen::new(Bounds {
            total: limits.half_open,
            per_source: limits.half_open_per_source,
            retry_above: limits.retry_above,
            held: limits.second_flight_timeout,
        });
        let admissions = Admissions::new(limits.connections, limits.connections_per_peer);
        Self {
            key,
            policy,
            accept,
            limits,
            counters: Arc::default(),
            half_open,
            admissions,
            server,
            clients: Mutex::default(),
        }
    }

    /// Returns the TLS configuration for connections to `peer`.
    ///
    /// # Errors
    /// [`BindError`] if the TLS configuration cannot be made, as for [`tls::client`].
    pub(crate) fn client(&self, peer: PeerId) -> Result<Arc<QuicClientConfig>, BindError> {
        let early = self.limits.early > 0;
        if !early {
            return tls::client(&self.key, self.policy, peer, early).map(Arc::new);
        }
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = clients.get(&peer) {
            return Ok(known.clone());
        }
        if clients.len() >= tls::SESSIONS {
            // Sessions only save time, so dropping all of them is cheap and needs no bookkeeping.
            clients.clear();
        }
        let made = Arc::new(tls::client(&self.key, self.policy, peer, early)?);
        clients.insert(peer, made.clone());
        Ok(made)
    }

    /// Returns the QUIC configuration for a connection from `remote`.
    pub(crate) fn server(&self, remote: SocketAddr) -> Arc<quinn::ServerConfig> {
        let mut config = self.server.clone();
        config.transport_config(self.limits.incoming(remote));
        Arc::new(config)
    }

    pub(crate) fn handle(&self, quinn: quinn::Connection) -> ConnHandle {
        let (counters, send_window) = (self.counters.clone(), self.limits.send_window);
        ConnHandle { quinn, counters, send_window }
    }

    /// Collects the components of a connection after its handshake.
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

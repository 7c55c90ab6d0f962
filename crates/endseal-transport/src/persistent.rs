//! Connection that is established again when it is lost.

use core::time::Duration;
use std::net::SocketAddr;
use std::sync::PoisonError;
use std::time::Instant;

use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::OsRandom;
use tokio::sync::Mutex;

use crate::backoff::{Backoff, Failures};
use crate::close::{CloseCode, Closed};
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::error::ConnectError;
use crate::renewal::Renewal;

/// A connection that has lasted this long counts as working: the next failure is the first again.
const WORKED: Duration = Duration::from_secs(10);
/// Default of [`PersistentConnection::renew_after`].
const RENEWED: Duration = Duration::from_secs(12 * 3600);

/// A connection to one peer that is established again after a loss.
///
/// No data is repeated automatically. If a connection is lost during a transfer, the application
/// must decide what to send again, because only it knows what may be sent twice.
#[allow(missing_debug_implementations, reason = "its endpoint holds a key")]
pub struct PersistentConnection {
    endpoint: Endpoint,
    peer: PeerId,
    backoff: Backoff,
    /// Outside `state`, because it may change during an attempt to connect.
    address: std::sync::Mutex<SocketAddr>,
    state: Mutex<State>,
    renew_after: Duration,
}

struct State {
    connection: Option<(Connection, Instant)>,
    failures: Failures,
    renewal: Renewal,
}

impl PersistentConnection {
    /// Makes the object without connecting. The first call of [`connection`](Self::connection)
    /// connects to `peer` at `address`.
    #[must_use]
    pub fn new(endpoint: Endpoint, peer: PeerId, address: SocketAddr, backoff: Backoff) -> Self {
        let state =
            State { connection: None, failures: Failures::default(), renewal: Renewal::default() };
        let address = std::sync::Mutex::new(address);
        let state = Mutex::new(state);
        Self { endpoint, peer, backoff, address, state, renew_after: RENEWED }
    }

    /// Sets the age from which a connection is replaced by a new one, with a new key exchange.
    /// Default 12 h.
    ///
    /// QUIC's own key update derives each key from the one before, so an attacker who learns one
    /// key can compute all later ones.
    #[must_use]
    pub fn renew_after(self, age: Duration) -> Self {
        Self { renew_after: age, ..self }
    }

    /// Returns the current connection, or establishes a new one. Concurrent calls wait for the same
    /// attempt.
    ///
    /// If the connection is older than [`renew_after`](Self::renew_after), it is returned and a new
    /// one is established in the background. Later calls return the new one once the peer has
    /// accepted it. The old one ends when its last handle and stream are dropped.
    ///
    /// The call may be dropped while it waits. A pending attempt is then aborted, and the next call
    /// waits for the rest of the back-off time.
    ///
    /// # Errors
    /// [`ConnectError`] if the address is invalid, the endpoint is closed, the peer has proved its
    /// key and refuses this side's, or [`Backoff::attempts`] are used up.
    pub async fn connection(&self) -> Result<Connection, ConnectError> {
        let mut state = self.state.lock().await;
        if let Some(renewed) = state.renewal.succeeded(&self.backoff) {
            state.connection = Some(renewed);
        }
        if let Some((connection, since)) = state.connection.clone() {
            if connection.close_reason().is_none() {
                if since.elapsed() >= self.renew_after {
                    let attempt = attempt(self.endpoint.clone(), self.peer, self.address());
                    state.renewal.begin(async { attempt.await.ok() });
                }
                return Ok(connection);
            }
            state.connection = None;
            state.renewal = Renewal::default();
            if since.elapsed() < WORKED {
                state.failures.add(&self.backoff, &mut OsRandom);
            } else {
                state.failures = Failures::default();
            }
        }
        let attempt = async || attempt(self.endpoint.clone(), self.peer, self.address()).await;
        let failures = &mut state.failures;
        let transient = |failure: &Failure| !failure.is_final;
        let connected = self.backoff.retry(&mut OsRandom, failures, transient, attempt).await;
        let connection = connected.map_err(|failure| failure.error)?;
        state.connection = Some((connection.clone(), Instant::now()));
        Ok(connection)
    }

    /// Sets the peer's address for the next attempt. An open connection is not affected.
    pub fn set_address(&self, address: SocketAddr) {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }

    fn address(&self) -> SocketAddr {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Connects, and waits until the peer has accepted this side's key.
async fn attempt(
    endpoint: Endpoint,
    peer: PeerId,
    address: SocketAddr,
) -> Result<Connection, Failure> {
    let connection = endpoint.connect(peer, address).await?;
    // Until this side's second flight is sent, anyone on the path can close the connection with an
    // Initial packet. A refusal by the peer arrives a round trip later. If a refusal is already
    // there, it may be either, and the next attempt decides.
    let was_open = connection.close_reason().is_none();
    // A peer that accepts the handshake but not the key gives no usable connection.
    connection.confirmed().await.map_err(|closed| match closed {
        Closed::Refused => Failure { error: ConnectError::Refused, is_final: was_open },
        Closed::ByPeer(CloseCode::Busy) => ConnectError::Busy.into(),
        other => ConnectError::Protocol(other.to_string()).into(),
    })?;
    Ok(connection)
}

/// Failed attempt to connect.
struct Failure {
    error: ConnectError,
    /// True if another attempt cannot help: the error is local, or the peer has proved its key.
    is_final: bool,
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        Self { is_final: !error.is_transient(), error }
    }
}

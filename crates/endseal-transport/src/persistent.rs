//! A connection that is made anew when it is lost.

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

/// A connection that has lasted so long has worked: the next failure is the first again.
const WORKED: Duration = Duration::from_secs(10);
/// Default of [`PersistentConnection::renew_after`].
const RENEWED: Duration = Duration::from_secs(12 * 3600);

/// A peer and where it is thought to be, with the connection to it while there is one.
///
/// It repeats nothing by itself: what was under way when a connection was lost is the
/// application's to send again, because it alone knows what may be sent twice.
#[allow(missing_debug_implementations, reason = "its endpoint holds a key")]
pub struct PersistentConnection {
    endpoint: Endpoint,
    peer: PeerId,
    backoff: Backoff,
    /// Apart from the rest: it may change while a connection is tried for.
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
    /// It without a connection yet.
    #[must_use]
    pub fn new(endpoint: Endpoint, peer: PeerId, address: SocketAddr, backoff: Backoff) -> Self {
        let state =
            State { connection: None, failures: Failures::default(), renewal: Renewal::default() };
        let address = std::sync::Mutex::new(address);
        let state = Mutex::new(state);
        Self { endpoint, peer, backoff, address, state, renew_after: RENEWED }
    }

    /// Age from which on a connection is replaced by a new one, with a new key exchange. Default 12
    /// h.
    ///
    /// QUIC's own key update derives keys from those before: a thief of one has them all.
    #[must_use]
    pub fn renew_after(self, age: Duration) -> Self {
        Self { renew_after: age, ..self }
    }

    /// The connection: the one there is, or a new one. All who ask wait for the same.
    ///
    /// A connection that is older than [`renew_after`](Self::renew_after) is returned, and a new
    /// one begun in a task; later calls return the new one once the peer has accepted it. The old
    /// one ends when the last handle and stream of it is dropped.
    ///
    /// May be dropped while it waits: an attempt to connect where there is no connection is given
    /// up, and the wait between two attempts goes on in the next call.
    ///
    /// # Errors
    /// [`ConnectError`] if the address cannot be one, the endpoint is closed, the peer has proved
    /// its key and refuses this side's, or [`Backoff::attempts`] are used up.
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

    /// Where the peer is thought to be from now on: the next attempt goes there. A connection that
    /// there is goes on.
    pub fn set_address(&self, address: SocketAddr) {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }

    fn address(&self) -> SocketAddr {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Connects, and waits until the peer has accepted this side.
async fn attempt(
    endpoint: Endpoint,
    peer: PeerId,
    address: SocketAddr,
) -> Result<Connection, Failure> {
    let connection = endpoint.connect(peer, address).await?;
    // Until this side's second flight is sent, anybody on the path can close the connection, by an
    // Initial packet. A refusal of the peer comes a round trip later. One that is there already may
    // be either, and the next attempt tells.
    let was_open = connection.close_reason().is_none();
    // A peer that accepts the handshake and not the key is no connection.
    connection.confirmed().await.map_err(|closed| match closed {
        Closed::Refused => Failure { error: ConnectError::Refused, is_final: was_open },
        Closed::ByPeer(CloseCode::Busy) => ConnectError::Busy.into(),
        other => ConnectError::Protocol(other.to_string()).into(),
    })?;
    Ok(connection)
}

/// Failure of an attempt.
struct Failure {
    error: ConnectError,
    /// The error is of this side, or of a peer that has proved its key.
    is_final: bool,
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        Self { is_final: !error.is_transient(), error }
    }
}

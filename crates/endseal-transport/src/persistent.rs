//! A connection that is made anew when it is lost.

use core::time::Duration;
use std::net::SocketAddr;
use std::sync::PoisonError;
use std::time::Instant;

use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::OsRandom;
use tokio::sync::Mutex;

use crate::backoff::Backoff;
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::error::ConnectError;

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
    /// In a row.
    failures: u32,
}

impl PersistentConnection {
    /// It without a connection yet.
    #[must_use]
    pub fn new(endpoint: Endpoint, peer: PeerId, address: SocketAddr, backoff: Backoff) -> Self {
        let state = Mutex::new(State { connection: None, failures: 0 });
        let address = std::sync::Mutex::new(address);
        Self { endpoint, peer, backoff, address, state, renew_after: RENEWED }
    }

    /// Age from which on a connection is replaced by a new one, with a new key exchange. Default 12 h.
    ///
    /// QUIC's own key update derives keys from those before: a thief of one has them all.
    #[must_use]
    pub fn renew_after(self, age: Duration) -> Self {
        Self { renew_after: age, ..self }
    }

    /// The connection: the one there is, or a new one. All who ask wait for the same.
    ///
    /// A connection that is older than [`renew_after`](Self::renew_after) is replaced if the peer can be
    /// reached, and ends when the last handle and stream of it is dropped.
    ///
    /// # Errors
    /// [`ConnectError`] if trying again is of no use, or was tried often enough.
    pub async fn connection(&self) -> Result<Connection, ConnectError> {
        let mut state = self.state.lock().await;
        if let Some((connection, since)) = state.connection.take() {
            if connection.close_reason().is_none() {
                let renewed = if since.elapsed() < self.renew_after {
                    None
                } else {
                    // The old one serves on if there is no other.
                    self.attempt().await.ok()
                };
                let current = renewed.map_or((connection, since), |new| (new, Instant::now()));
                state.connection = Some(current.clone());
                return Ok(current.0);
            }
            state.failures =
                if since.elapsed() < WORKED { state.failures.saturating_add(1) } else { 0 };
            if state.failures > 0 {
                let wait = self.backoff.wait(state.failures, &mut OsRandom);
                tokio::time::sleep(wait.unwrap_or(self.backoff.max)).await;
            }
        }
        let attempt = async || self.attempt().await;
        let failures = &mut state.failures;
        let transient = ConnectError::is_transient;
        let connection = self.backoff.retry(&mut OsRandom, failures, transient, attempt).await?;
        state.connection = Some((connection.clone(), Instant::now()));
        Ok(connection)
    }

    async fn attempt(&self) -> Result<Connection, ConnectError> {
        let connection = self.endpoint.connect(self.peer, self.address()).await?;
        // A peer that accepts the handshake and not the key is no connection.
        connection.confirmed().await.map_err(|closed| match closed {
            crate::Closed::Refused => ConnectError::Refused,
            crate::Closed::ByPeer(crate::CloseCode::Busy) => ConnectError::Busy,
            other => ConnectError::Protocol(other.to_string()),
        })?;
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

//! Outgoing connections until their handshake is complete.

use std::sync::Arc;
use std::time::Instant;

use endseal_crypto::peer_id::PeerId;
use quinn::ConnectionError;
use tokio::sync::watch;

use crate::close::CloseCode;
use crate::conn_handle::ConnHandle;
use crate::connection::{Connection, open_control};
use crate::error::ConnectError;
use crate::handshake::{EarlyData, HandshakeInfo, peer_of};
use crate::limits::Limits;
use crate::shared::Shared;
use crate::statistics::Counters;

/// An outgoing connection attempt whose handshake is not complete.
pub(crate) struct ConnectAttempt {
    shared: Arc<Shared>,
    peer: PeerId,
}

impl ConnectAttempt {
    pub(crate) fn new(shared: Arc<Shared>, peer: PeerId) -> Self {
        Self { shared, peer }
    }

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

    /// Returns the connection. Called when the peer has proved its key.
    pub(crate) async fn start(
        &self,
        quinn: quinn::Connection,
        started: Instant,
        early: EarlyData,
        control: Option<quinn::SendStream>,
    ) -> Result<Connection, ConnectError> {
        let shared = &self.shared;
        let handshake = HandshakeInfo::of(&quinn, shared.policy, started, early);
        // TLS has compared the id already; for a resumed session it did so in the first handshake.
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

    /// Counts a handshake that timed out, and returns its error.
    pub(crate) fn timed_out(&self) -> ConnectError {
        Counters::add(&self.shared.counters.handshakes_failed, 1);
        ConnectError::TimedOut
    }

    /// Counts a failed handshake, and returns its error.
    pub(crate) fn failed(&self, error: ConnectionError) -> ConnectError {
        Counters::add(&self.shared.counters.handshakes_failed, 1);
        let error = ConnectError::from(error);
        if error == ConnectError::WrongPeer {
            Counters::add(&self.shared.counters.peers_refused, 1);
        }
        error
    }
}

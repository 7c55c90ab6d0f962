//! Results of a handshake.

use core::time::Duration;
use std::time::Instant;

use endseal_crypto::peer_id::PeerId;
use quinn::rustls::pki_types::CertificateDer;

use crate::policy::{CodePoint, Policy};

/// Facts about a completed handshake, for display and measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandshakeInfo {
    /// Key exchange group. A policy has exactly one, so each successful handshake has used it.
    pub group: CodePoint,
    /// Signature scheme of both sides. A policy has exactly one.
    pub signature: CodePoint,
    /// Bytes of UDP payload sent until the handshake was complete on this side. The first probes of
    /// the path's MTU may be included.
    pub bytes_sent: u64,
    /// Bytes of UDP payload received until the handshake was complete on this side.
    pub bytes_received: u64,
    /// UDP datagrams sent until then.
    pub datagrams_sent: u64,
    /// UDP datagrams received until then.
    pub datagrams_received: u64,
    /// Time from the start of the handshake to its completion on this side.
    pub duration: Duration,
    /// Result of early data.
    pub early: EarlyData,
}

/// Result of early data (0-RTT) of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EarlyData {
    /// No early data was sent.
    NotUsed,
    /// The peer accepted the early data.
    Accepted,
    /// The peer rejected the early data; it was sent again after the handshake.
    Rejected,
}

/// Returns true if the handshake is complete on this side, even if the connection has ended since.
pub(crate) fn is_complete(quinn: &quinn::Connection) -> bool {
    // TLS exports key material only after a complete handshake. The exported key is not used.
    quinn.export_keying_material(&mut [0], b"EXPORTER-endseal-complete", b"").is_ok()
}

/// Returns the id of the key that the other side has proved.
pub(crate) fn peer_of(quinn: &quinn::Connection) -> Option<PeerId> {
    let chain = quinn.peer_identity()?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    chain.first().map(|spki| PeerId::of_spki(spki))
}

impl HandshakeInfo {
    /// The shortest round trip, 5 ms, for which [`round_trips`](Self::round_trips) gives a result:
    /// on a shorter path, computation takes as long as transmission.
    pub const LONG_ENOUGH: Duration = Duration::from_millis(5);

    /// Returns the [`duration`](Self::duration) of the handshake in units of `round_trip`.
    /// Computation of both sides and retransmissions are included. `None` if `round_trip` is
    /// shorter than [`LONG_ENOUGH`](Self::LONG_ENOUGH).
    ///
    /// The caller MUST measure `round_trip` apart from the handshake, best as the fastest of
    /// several echoes after it. QUIC's own estimate at the end of the handshake is derived from the
    /// handshake itself, so the quotient would say nothing.
    #[must_use]
    pub fn round_trips(&self, round_trip: Duration) -> Option<f64> {
        let is_long = round_trip >= Self::LONG_ENOUGH;
        is_long.then(|| self.duration.as_secs_f64() / round_trip.as_secs_f64())
    }

    pub(crate) fn of(
        connection: &quinn::Connection,
        policy: Policy,
        started: Instant,
        early: EarlyData,
    ) -> Self {
        let stats = connection.stats();
        Self {
            group: policy.group(),
            signature: policy.signature(),
            bytes_sent: stats.udp_tx.bytes,
            bytes_received: stats.udp_rx.bytes,
            datagrams_sent: stats.udp_tx.datagrams,
            datagrams_received: stats.udp_rx.datagrams,
            duration: started.elapsed(),
            early,
        }
    }
}

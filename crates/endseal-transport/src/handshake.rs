//! Results of a handshake.

use core::time::Duration;
use std::time::Instant;

use endseal_crypto::peer_id::PeerId;
use quinn::rustls::pki_types::CertificateDer;

use crate::policy::{CodePoint, Policy};

/// Facts about a handshake, for people and for measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandshakeInfo {
    /// The key exchange. A policy has one, so a handshake that succeeded has used it.
    pub group: CodePoint,
    /// The signature scheme of both sides; likewise.
    pub signature: CodePoint,
    /// Bytes of UDP payload sent until this side took notice that it was done. Probes of the path's
    /// MTU, which follow at once, may be among them.
    pub bytes_sent: u64,
    /// Bytes of UDP payload received; likewise.
    pub bytes_received: u64,
    /// UDP datagrams sent.
    pub datagrams_sent: u64,
    /// UDP datagrams received.
    pub datagrams_received: u64,
    /// From the first packet to the last, on this side.
    pub duration: Duration,
    /// Outcome of early data.
    pub early: EarlyData,
}

/// Outcome of early data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EarlyData {
    /// There was none.
    NotUsed,
    /// The peer took it.
    Accepted,
    /// The peer did not take it; it was sent again after the handshake.
    Rejected,
}

/// Returns true if the handshake is complete on this side, also if the connection has ended since.
pub(crate) fn is_complete(quinn: &quinn::Connection) -> bool {
    // TLS exports key material of a complete handshake only, and no key is used here.
    quinn.export_keying_material(&mut [0], b"EXPORTER-endseal-complete", b"").is_ok()
}

/// Returns the id of the key that the other side has proved.
pub(crate) fn peer_of(quinn: &quinn::Connection) -> Option<PeerId> {
    let chain = quinn.peer_identity()?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    chain.first().map(|spki| PeerId::of_spki(spki))
}

impl HandshakeInfo {
    /// The shortest round trip, 5 ms, by which a handshake can be measured: on a shorter path
    /// computing takes as long as travelling.
    pub const LONG_ENOUGH: Duration = Duration::from_millis(5);

    /// Returns the number of round trips that the handshake lasted: [`duration`](Self::duration)
    /// divided by `round_trip`, with what both sides computed and what had to be sent again.
    ///
    /// `round_trip` MUST be measured apart from the handshake, best as the fastest of several
    /// echoes after it: QUIC's own estimate at its end is the time of the handshake itself, and the
    /// quotient of the two says nothing. `None` if it is shorter than
    /// [`LONG_ENOUGH`](Self::LONG_ENOUGH).
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

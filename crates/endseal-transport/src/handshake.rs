//! What a handshake came to.

use core::time::Duration;
use std::time::Instant;

use crate::policy::{CodePoint, Policy};

/// Facts about a handshake, for people and for measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandshakeInfo {
    /// The key exchange. A policy has one, so a handshake that succeeded has used it.
    pub group: CodePoint,
    /// The signature scheme of both sides; likewise.
    pub signature: CodePoint,
    /// Bytes of UDP payload sent until it was done.
    pub bytes_sent: u64,
    /// Bytes of UDP payload received until it was done.
    pub bytes_received: u64,
    /// UDP datagrams sent.
    pub datagrams_sent: u64,
    /// UDP datagrams received.
    pub datagrams_received: u64,
    /// From the first packet to the last, on this side.
    pub duration: Duration,
    /// Estimate of the path's round trip time at the end.
    pub rtt: Duration,
    /// What became of early data.
    pub early: EarlyData,
}

/// What became of early data.
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

impl HandshakeInfo {
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
            rtt: connection.rtt(),
            early,
        }
    }
}

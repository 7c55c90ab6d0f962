//! Limits of a connection and an endpoint (docs/spec/transport.md, "Limits").

use core::time::Duration;
use std::net::SocketAddr;
use std::sync::Arc;

use endseal_codec::Limits as FrameLimits;
use quinn::congestion::CubicConfig;
use quinn::{
    AckFrequencyConfig, EndpointConfig, IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt,
};

use crate::route;

/// Largest payload that a peer may always be sent, before it has said how much it accepts.
pub const FRAME_INITIAL: u32 = 64 * 1024;
/// The largest payload that a side may say it accepts.
pub const FRAME_MAX: u32 = 16 * 1024 * 1024;

/// QUIC version 1 (RFC 9000, 15).
const QUIC_V1: u32 = 1;
/// Largest UDP payload. quinn hands the kernel up to ten packets of equal length in one call, and a
/// call takes at most 65,507 bytes: with longer packets it would fail.
const MTU: u16 = 6550;
/// UDP payload that every path takes (RFC 9000, 14), and none is asked for less.
const MTU_LEAST: u16 = 1200;
/// UDP payload that is tried where the first hop is not known: Ethernet with IPv6.
const MTU_ETHERNET: u16 = 1452;
/// Packets that the peer may receive before it has to acknowledge them: a message of 8 KB over
/// Ethernet, so that its answer carries the acknowledgement (draft-ietf-quic-ack-frequency).
const UNACKNOWLEDGED: u32 = 8;
/// And the time it may take over fewer: what a sender with a small window waits for.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_millis(1);

/// Acknowledgements that are asked for. quinn fixes the request when a connection begins, when its
/// round trip is not known. Within this machine it is far below 1 ms. On every other path fewer
/// than 8 packets may come within 1 ms, and the request would cause more acknowledgements than
/// QUIC's own rule: every second packet, or 25 ms.
fn acknowledgements(remote: SocketAddr) -> Option<AckFrequencyConfig> {
    remote.ip().to_canonical().is_loopback().then(|| {
        let mut config = AckFrequencyConfig::default();
        config
            .ack_eliciting_threshold(VarInt::from_u32(UNACKNOWLEDGED))
            .max_ack_delay(Some(ACKNOWLEDGED_WITHIN));
        config
    })
}

/// Bounds. Each has a default that suits one machine with some hundred peers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Largest payload accepted in a frame: 64 KiB to 16 MiB. Default 1 MiB.
    pub frame: u32,
    /// Message streams that the peer may have open at once. Default 256.
    pub messages: u32,
    /// Exchanges that the peer may have open at once. Default 64.
    pub exchanges: u32,
    /// Bytes of one stream that were received and not read. Default 1.25 MiB:
    /// 100 Mbit/s at 100 ms. More than a CPU's cache holds costs speed where the path is short.
    pub stream_window: u32,
    /// Bytes of all streams of a connection that were received and not read. Default 4 MiB.
    pub connection_window: u32,
    /// Bytes of a connection that were written and not acknowledged. Default 2 MiB. On a path with
    /// a round trip below 4 ms less of it is used, in proportion, but at least 384 KiB: 3 Gbit/s at
    /// 1 ms.
    pub send_window: u32,
    /// Bytes of frames that may be sent as early data; 0 (the default) turns it off, both ways, and
    /// with it the resumption of sessions.
    pub early: u32,
    /// A connection from which nothing was heard for so long is lost. Default 30 s.
    pub idle_timeout: Duration,
    /// A sign of life is sent after so long. Default 10 s, less than usual timeouts of address
    /// translation (RFC 9308, 3.2).
    pub keep_alive: Duration,
    /// Time for a handshake that this side begins, and for the peer's control stream after a
    /// handshake. Default 10 s.
    pub handshake_timeout: Duration,
    /// Time for an incoming handshake, from the first flight to the second. Default 3 s.
    pub second_flight_timeout: Duration,
    /// Incoming handshakes at once. Beyond, the oldest is given up for the next. One that fails
    /// counts here and below until [`Self::second_flight_timeout`] after its beginning. Default
    /// 1,024.
    pub half_open: usize,
    /// Incoming handshakes at once from one source network, a /24 of IPv4 or a /56 of IPv6. From
    /// half of them on an address must be proved first (Retry); beyond, nothing is answered.
    /// Default 64.
    pub half_open_per_source: usize,
    /// Incoming handshakes at once above which an address must be proved first (Retry). Default 64.
    pub retry_above: usize,
    /// Incoming connections that nobody has taken yet. Default 64.
    pub backlog: usize,
    /// Connections at once. Default 1,024.
    pub connections: usize,
    /// Connections at once that one peer has asked for. Default 16.
    pub connections_per_peer: usize,
    /// Bytes of the socket's buffers in the kernel, each way; the system may give less. Default
    /// 4 MiB.
    pub socket_buffer: usize,
    /// Largest UDP payload that is received, and that is tried on the path where its first hop
    /// takes as much: 1,200 to 6,550. Default 6,550: ten of them are what the kernel takes in one
    /// call.
    pub mtu: u16,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame: 1024 * 1024,
            messages: 256,
            exchanges: 64,
            stream_window: 1280 * 1024,
            connection_window: 4 * 1024 * 1024,
            send_window: 2 * 1024 * 1024,
            early: 0,
            idle_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(10),
            handshake_timeout: Duration::from_secs(10),
            second_flight_timeout: Duration::from_secs(3),
            half_open: 1024,
            half_open_per_source: 64,
            retry_above: 64,
            backlog: 64,
            connections: 1024,
            connections_per_peer: 16,
            socket_buffer: 4 * 1024 * 1024,
            mtu: MTU,
        }
    }
}

impl Limits {
    /// Returns the limits of frames that are accepted, within their bounds.
    pub(crate) fn frames(&self) -> FrameLimits {
        frame_limits(self.frame)
    }

    /// The largest datagram that is received and the version of QUIC, as quinn wants them.
    pub(crate) fn endpoint(&self) -> EndpointConfig {
        let mut config = EndpointConfig::default();
        // quinn speaks drafts 29 to 34 too.
        config.supported_versions(vec![QUIC_V1]);
        // It fails below 1,200 and above 65,527.
        let _within = config.max_udp_payload_size(self.payload());
        config
    }

    /// [`Self::mtu`] within its bounds.
    fn payload(&self) -> u16 {
        self.mtu.clamp(MTU_LEAST, MTU)
    }

    /// The limits of a connection to `remote`, as quinn wants them.
    pub(crate) fn transport(&self, remote: SocketAddr) -> Arc<TransportConfig> {
        let mut config = TransportConfig::default();
        let mut discovery = MtuDiscoveryConfig::default();
        let first_hop = route::largest_payload(remote).unwrap_or(MTU_ETHERNET);
        discovery.upper_bound(self.payload().min(first_hop).max(MTU_LEAST));
        let idle = IdleTimeout::try_from(self.idle_timeout).ok();
        config
            // One more than messages: the control stream.
            .max_concurrent_uni_streams(VarInt::from_u32(self.messages.saturating_add(1)))
            .max_concurrent_bidi_streams(VarInt::from_u32(self.exchanges))
            .stream_receive_window(VarInt::from_u32(self.stream_window))
            .receive_window(VarInt::from_u32(self.connection_window))
            .send_window(u64::from(self.send_window))
            .datagram_receive_buffer_size(None)
            .max_idle_timeout(idle)
            .keep_alive_interval(Some(self.keep_alive))
            .mtu_discovery_config(Some(discovery))
            .ack_frequency_config(acknowledgements(remote))
            .congestion_controller_factory(Arc::new(CubicConfig::default()));
        Arc::new(config)
    }
}

/// Limits of frames, from [`FRAME_INITIAL`] to [`FRAME_MAX`]: the codec allows more.
pub(crate) fn frame_limits(max_payload: u32) -> FrameLimits {
    FrameLimits::with_maximum(max_payload.clamp(FRAME_INITIAL, FRAME_MAX)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_acknowledgements_are_asked_for_on_loopback_only() {
        let asked = |text: &str| acknowledgements(text.parse().unwrap()).is_some();
        assert!(asked("127.0.0.1:1") && asked("[::1]:1") && asked("[::ffff:127.3.2.1]:1"));
        assert!(!asked("192.0.2.2:1") && !asked("[2001:db8::1]:1"));
    }
}

//! Limits of connections and endpoints (docs/spec/transport.md, "Limits").

use core::time::Duration;
use std::net::SocketAddr;
use std::sync::Arc;

use endseal_codec::Limits as FrameLimits;
use quinn::congestion::CubicConfig;
use quinn::{
    AckFrequencyConfig, EndpointConfig, IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt,
};

use crate::key::TransportKey;
use crate::{reset, route};

/// Largest payload in bytes that every peer accepts, before it has announced its own limit.
pub const FRAME_INITIAL: u32 = 64 * 1024;
/// Largest value in bytes that a side may announce as its limit of payloads.
pub const FRAME_MAX: u32 = 16 * 1024 * 1024;

/// QUIC version 1 (RFC 9000, 15).
const QUIC_V1: u32 = 1;
/// Largest UDP payload. quinn passes up to ten packets of equal length to the kernel in one call,
/// and a call takes at most 65,507 bytes: with longer packets it would fail.
const MTU: u16 = 6550;
/// UDP payload that every QUIC path must carry (RFC 9000, 14), the lower bound of the MTU search.
const MTU_LEAST: u16 = 1200;
/// Largest UDP payload that is tried if the first hop is not known: Ethernet with IPv6.
const MTU_ETHERNET: u16 = 1452;
/// Packets that the peer may receive before it has to acknowledge them: a message of 8 KB over
/// Ethernet, so that its answer carries the acknowledgement (draft-ietf-quic-ack-frequency).
const UNACKNOWLEDGED: u32 = 8;
/// Longest delay of an acknowledgement for fewer packets, which a sender with a small window waits
/// for.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_millis(1);

/// Returns the acknowledgement frequency to request, if any. quinn fixes the request when a
/// connection starts, before its round trip is known. On loopback the round trip is far below 1 ms.
/// On every other path fewer than 8 packets may arrive within 1 ms, and the request would cause
/// more acknowledgements than QUIC's own rule: every second packet, or 25 ms.
fn acknowledgements(remote: SocketAddr) -> Option<AckFrequencyConfig> {
    remote.ip().to_canonical().is_loopback().then(|| {
        let mut config = AckFrequencyConfig::default();
        config
            .ack_eliciting_threshold(VarInt::from_u32(UNACKNOWLEDGED))
            .max_ack_delay(Some(ACKNOWLEDGED_WITHIN));
        config
    })
}

/// Limits of an endpoint and its connections. The defaults suit one machine with some hundred
/// peers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Largest payload accepted in a frame: 64 KiB to 16 MiB. Default 1 MiB.
    pub frame: u32,
    /// Message streams that the peer may have open at once. Default 256.
    pub messages: u32,
    /// Exchanges that the peer may have open at once. Default 64.
    pub exchanges: u32,
    /// Bytes of one stream that may be received and not read. Default 1.25 MiB: enough for 100
    /// Mbit/s at 100 ms. A window larger than the CPU's cache reduces throughput on short paths.
    pub stream_window: u32,
    /// Bytes of all streams of a connection that may be received and not read. Default 4 MiB.
    pub connection_window: u32,
    /// Bytes of a connection that may be written and not acknowledged. Default 2 MiB. On a path
    /// with a round trip below 4 ms only a proportional share is used, but at least 384 KiB, which
    /// suffices for 3 Gbit/s at 1 ms.
    pub send_window: u32,
    /// Connection window and number of exchanges of an incoming connection until
    /// [`Connection::widen`](crate::Connection::widen) is called. `None`, the default, gives it the
    /// whole window and all exchanges at once.
    pub first: Option<FirstWindow>,
    /// Name of the endpoint among those with its key. With it, a restarted endpoint tells peers
    /// that their connections are gone (stateless reset, RFC 9000, 10.3), instead of leaving them
    /// to their idle timeout. Default `None`. Only one endpoint at a time may have a key with one
    /// name: an observer of another one's packets could otherwise end its connections.
    pub resets: Option<Box<[u8]>>,
    /// Bytes of frames that may be sent as early data. 0, the default, turns early data and the
    /// resumption of sessions off, in both directions.
    pub early: u32,
    /// A connection counts as lost if no packet arrived for this time. Default 30 s.
    pub idle_timeout: Duration,
    /// Interval of keep-alive packets. Default 10 s, which is shorter than usual timeouts of
    /// address translation (RFC 9308, 3.2).
    pub keep_alive: Duration,
    /// Time limit for an outgoing handshake, and for the arrival of the peer's control stream after
    /// any handshake. Default 10 s.
    pub handshake_timeout: Duration,
    /// Time limit for an incoming handshake, from the first flight to the second. Default 3 s.
    pub second_flight_timeout: Duration,
    /// Limit of simultaneous incoming handshakes. When it is reached, the oldest is aborted for the
    /// next. A failed handshake counts here and in the two limits below until
    /// [`Self::second_flight_timeout`] has passed since its start. Default 1,024.
    pub half_open: usize,
    /// Limit of simultaneous incoming handshakes from one source network, an IPv4 /24 or an IPv6
    /// /56. When half of it is used, an address must be proved first (Retry); when all of it is
    /// used, packets are not answered. Default 64.
    pub half_open_per_source: usize,
    /// Number of simultaneous incoming handshakes from which on an address must be proved first
    /// (Retry). Default 64.
    pub retry_above: usize,
    /// Limit of incoming connections that wait for [`Endpoint::accept`](crate::Endpoint::accept).
    /// Beyond it, connections are closed as busy. Default 64.
    pub backlog: usize,
    /// Limit of simultaneous connections, in both directions. Default 1,024.
    pub connections: usize,
    /// Limit of simultaneous incoming connections from one peer. Default 16.
    pub connections_per_peer: usize,
    /// Size of each kernel buffer of the socket, in bytes; the system may grant less. Default 4
    /// MiB.
    pub socket_buffer: usize,
    /// Largest UDP payload that is received and that is tried on a path, if its first hop carries
    /// it: 1,200 to 6,550 bytes. Default 6,550: the kernel takes ten such packets in one call.
    pub mtu: u16,
}

/// Limits of an incoming connection before it is widened.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "two of the limits")]
pub struct FirstWindow {
    /// Bytes of all streams that may be received and not read.
    pub bytes: u32,
    /// Exchanges that the peer may have open at once.
    pub exchanges: u32,
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
            first: None,
            resets: None,
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
    /// Returns the limits for received frames, within the bounds of the protocol.
    pub(crate) fn frames(&self) -> FrameLimits {
        frame_limits(self.frame)
    }

    /// Returns quinn's endpoint settings: the largest datagram that is received, the QUIC version
    /// and, for resets, the key of connection ids and reset tokens.
    pub(crate) fn endpoint(&self, key: &TransportKey) -> EndpointConfig {
        let mut config = EndpointConfig::default();
        if let Some(name) = &self.resets {
            reset::configure(&mut config, key, name);
        }
        // By default quinn supports drafts 29 to 34 too.
        config.supported_versions(vec![QUIC_V1]);
        // It fails below 1,200 and above 65,527 only.
        let _within = config.max_udp_payload_size(self.payload());
        config
    }

    /// Returns [`Self::mtu`] within its bounds.
    fn payload(&self) -> u16 {
        self.mtu.clamp(MTU_LEAST, MTU)
    }

    /// Returns quinn's settings for a connection from `remote`.
    pub(crate) fn incoming(&self, remote: SocketAddr) -> Arc<TransportConfig> {
        match self.first {
            None => self.transport(remote),
            Some(FirstWindow { bytes, exchanges }) => {
                let first = Self { connection_window: bytes, exchanges, ..self.clone() };
                first.transport(remote)
            }
        }
    }

    /// Returns quinn's settings for a connection to `remote`.
    pub(crate) fn transport(&self, remote: SocketAddr) -> Arc<TransportConfig> {
        let mut config = TransportConfig::default();
        let mut discovery = MtuDiscoveryConfig::default();
        let first_hop = route::largest_payload(remote).unwrap_or(MTU_ETHERNET);
        discovery.upper_bound(self.payload().min(first_hop).max(MTU_LEAST));
        let idle = IdleTimeout::try_from(self.idle_timeout).ok();
        config
            // One stream more than `messages`: the control stream.
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

/// Returns frame limits within [`FRAME_INITIAL`] and [`FRAME_MAX`]; the codec would allow more.
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

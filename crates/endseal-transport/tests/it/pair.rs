//! Two endpoints on this machine.

use std::net::SocketAddr;
use std::time::Duration;

use endseal_codec::frame::LiveHeader;
use endseal_crypto::identity::Identity;
use endseal_crypto::{ed25519, mlkem768};
use endseal_testing::SplitMix64;
use endseal_transport::{
    Accept, ConnectError, Connection, Endpoint, Frame, Kind, Limits, Policy, TransportKey,
};

pub(crate) const HERE: &str = "127.0.0.1:0";

pub(crate) fn identity(n: u8) -> Identity {
    Identity::from_seeds(ed25519::Seed::from_bytes(&[n; 32]), mlkem768::Seed::from_bytes(&[!n; 64]))
}

/// The key of `identity(n)` that a policy asks for.
pub(crate) fn key(n: u8, policy: Policy) -> TransportKey {
    if policy.is_post_quantum() {
        TransportKey::new(&identity(n))
    } else {
        TransportKey::classical(&identity(n))
    }
}

pub(crate) fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.handshake_timeout = Duration::from_secs(20);
    limits.second_flight_timeout = Duration::from_secs(20);
    limits
}

/// A client (identity 1) and a server (identity 2) that know each other.
pub(crate) struct Pair {
    pub(crate) client: Endpoint,
    pub(crate) server: Endpoint,
}

impl Pair {
    pub(crate) fn new(policy: Policy, limits: Limits) -> Self {
        let (one, two) = (key(1, policy), key(2, policy));
        let here = HERE.parse().unwrap();
        let accept = Accept::pinned([one.peer_id()]);
        let server = Endpoint::bind_with(here, &two, policy, accept, limits.clone()).unwrap();
        let client = Endpoint::bind_with(here, &one, policy, Accept::nobody(), limits).unwrap();
        Self { client, server }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.local_address().unwrap()
    }

    /// A connection through `address`, the server's own or a proxy's.
    pub(crate) async fn connect(&self, address: SocketAddr) -> (Connection, Connection) {
        let asked = self.client.connect(self.server.peer_id(), address);
        let (asked, taken) = tokio::join!(asked, self.server.accept());
        (asked.unwrap(), taken.unwrap())
    }
}

/// A pair and a direct connection.
pub(crate) async fn connected(limits: Limits) -> (Pair, Connection, Connection) {
    let pair = Pair::new(Policy::Hybrid, limits);
    let (asked, taken) = pair.connect(pair.address()).await;
    (pair, asked, taken)
}

/// Returns what `meeting` is told by its peer; `None` where a reset has overtaken that.
///
/// An endpoint that stands still for three probe timeouts after it has closed sends the reason and
/// forgets the connection in one breath, and answers a packet that waited with a reset; when both
/// arrive together, quinn-proto 0.11.19 reports the reset (`Connection::handle_packet` sets its
/// error anew). A busy machine does that to one connection, not to five.
pub(crate) async fn unless_overtaken<T>(meeting: impl AsyncFn() -> Option<T>) -> T {
    for _ in 0..5 {
        if let Some(told) = meeting().await {
            return told;
        }
    }
    panic!("five reasons overtaken by resets");
}

/// A connection that was refused or closed while it was made, and whose reason was overtaken.
pub(crate) fn was_reset(error: &ConnectError) -> bool {
    *error == ConnectError::Protocol("reset by peer".into())
}

/// A frame whose payload is different for each number and length, and begins with the number.
pub(crate) fn frame(number: u64, len: usize) -> Frame {
    let mut random = SplitMix64::new(number);
    let rest = core::iter::repeat_with(|| random.next().to_le_bytes()[3]);
    let payload: Vec<u8> = number.to_le_bytes().into_iter().chain(rest).take(len).collect();
    Frame::new(Kind::Message, payload)
}

/// The number of such a frame of 8 bytes or more.
pub(crate) fn number(frame: &Frame) -> u64 {
    u64::from_le_bytes(frame.payload[..8].try_into().unwrap())
}

/// Returns the bytes of a stream of these frames behind its prefix.
pub(crate) fn encoded(frames: &[Frame]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (sequence, frame) in (0..).zip(frames) {
        let len = frame.payload.len();
        let limits = endseal_codec::Limits::default();
        let header = LiveHeader::new(frame.kind(), len, sequence, limits).unwrap();
        let mut out = [0; LiveHeader::MAX_LEN];
        let len = header.write(&mut out);
        bytes.extend_from_slice(&out[..len]);
        bytes.extend_from_slice(&frame.payload);
    }
    bytes
}

/// Returns true if something becomes true within some seconds.
pub(crate) async fn eventually(mut is_true: impl FnMut() -> bool) -> bool {
    for _ in 0..500 {
        if is_true() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    is_true()
}

//! Two connected endpoints on this machine, for the tests.

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

/// Returns the key of `identity(n)` that `policy` requires.
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

/// A client (identity 1) and a server (identity 2) that accept each other.
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
        let client = Endpoint::bind_with(here, &one, policy, Accept::none(), limits).unwrap();
        Self { client, server }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.local_address().unwrap()
    }

    /// Connects through `address`, which is the server's own or a proxy's.
    pub(crate) async fn connect(&self, address: SocketAddr) -> (Connection, Connection) {
        let asked = self.client.connect(self.server.peer_id(), address);
        let (asked, taken) = tokio::join!(asked, self.server.accept());
        (asked.unwrap(), taken.unwrap())
    }
}

/// Returns a pair and a direct connection between its endpoints.
pub(crate) async fn connected(limits: Limits) -> (Pair, Connection, Connection) {
    let pair = Pair::new(Policy::Hybrid, limits);
    let (asked, taken) = pair.connect(pair.address()).await;
    (pair, asked, taken)
}

/// Returns the close reason that `meeting` receives from its peer. `meeting` returns `None` if a
/// reset arrived instead, and is then repeated.
///
/// An endpoint that is stalled for three probe timeouts after a close sends the close message,
/// forgets the connection at the same moment, and answers a waiting packet with a reset. When both
/// arrive together, quinn-proto 0.11.19 reports the reset (`Connection::handle_packet` overwrites
/// its error). A busy machine does that to one connection, but not to five in a row.
pub(crate) async fn unless_overtaken<T>(meeting: impl AsyncFn() -> Option<T>) -> T {
    for _ in 0..5 {
        if let Some(told) = meeting().await {
            return told;
        }
    }
    panic!("five reasons overtaken by resets");
}

/// Returns true if a connection was refused or closed during its handshake, and a reset hid the
/// reason.
pub(crate) fn was_reset(error: &ConnectError) -> bool {
    *error == ConnectError::Protocol("reset by peer".into())
}

/// Makes a frame with a payload that differs for each number and length and starts with the number.
pub(crate) fn frame(number: u64, len: usize) -> Frame {
    let mut random = SplitMix64::new(number);
    let rest = core::iter::repeat_with(|| random.next().to_le_bytes()[3]);
    let payload: Vec<u8> = number.to_le_bytes().into_iter().chain(rest).take(len).collect();
    Frame::new(Kind::Message, payload)
}

/// Returns the number of such a frame of 8 bytes or more.
pub(crate) fn number(frame: &Frame) -> u64 {
    u64::from_le_bytes(frame.payload[..8].try_into().unwrap())
}

/// Returns the bytes of a stream of these frames after its prefix.
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

/// Returns true if the condition becomes true within some seconds.
pub(crate) async fn eventually(mut is_true: impl FnMut() -> bool) -> bool {
    for _ in 0..500 {
        if is_true() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    is_true()
}

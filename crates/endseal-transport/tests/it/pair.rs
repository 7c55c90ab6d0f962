//! Two endpoints on this machine.

use std::net::SocketAddr;
use std::time::Duration;

use endseal_crypto::identity::Identity;
use endseal_crypto::{ed25519, mlkem768};
use endseal_transport::{Accept, Connection, Endpoint, Frame, Kind, Limits, Policy, TransportKey};

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

pub(crate) fn kind(n: u8) -> Kind {
    Kind::new(n).unwrap()
}

/// A frame whose payload is different for each number and length.
pub(crate) fn frame(sequence: u64, len: usize) -> Frame {
    Frame::new(kind(1), sequence, payload(sequence, len))
}

pub(crate) fn payload(sequence: u64, len: usize) -> Vec<u8> {
    let mut random = Generator::new(sequence);
    (0..len).map(|_| random.next().to_le_bytes()[3]).collect()
}

/// SplitMix64: seeded, so that what failed fails again.
#[derive(Clone)]
pub(crate) struct Generator(u64);

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Whether something becomes true within some seconds.
pub(crate) async fn eventually(mut is_true: impl FnMut() -> bool) -> bool {
    for _ in 0..500 {
        if is_true() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    is_true()
}

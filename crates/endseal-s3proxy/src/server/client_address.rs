//! Address of a client, which a balancer may have stated.

use core::fmt;
use core::net::{IpAddr, SocketAddr};

/// Address of a client in the log. It is that of the connection, or the one that a known balancer
/// states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientAddress {
    pub(super) ip: IpAddr,
    /// Port, if it is known.
    port: Option<u16>,
    /// Balancer that states the address.
    pub(super) via: Option<SocketAddr>,
}

impl ClientAddress {
    /// Returns an address that a balancer states.
    pub(super) fn stated(address: SocketAddr, via: SocketAddr) -> Self {
        Self { ip: address.ip(), port: Some(address.port()), via: Some(via) }
    }

    /// Returns an address that a balancer states in a header, which has no port.
    pub(super) const fn forwarded(ip: IpAddr, via: SocketAddr) -> Self {
        Self { ip, port: None, via: Some(via) }
    }
}

impl From<SocketAddr> for ClientAddress {
    fn from(peer: SocketAddr) -> Self {
        Self { ip: peer.ip(), port: Some(peer.port()), via: None }
    }
}

impl fmt::Display for ClientAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => SocketAddr::new(self.ip, port).fmt(f),
            None => self.ip.fmt(f),
        }
    }
}

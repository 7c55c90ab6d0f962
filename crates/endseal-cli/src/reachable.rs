//! Addresses by which other machines reach a socket that listens on all addresses.

use core::net::SocketAddr;
use std::net::UdpSocket;

/// Addresses of documentation (RFC 5737, RFC 3849), beyond every local network.
const ELSEWHERE: [&str; 2] = ["192.0.2.1:9", "[2001:db8::1]:9"];

/// Returns the address that this machine uses to reach others, with the port of `bound`, if `bound`
/// stands for all addresses. Returns `bound` otherwise, or if there is no network. No packet is
/// sent.
pub(crate) fn address(bound: SocketAddr) -> SocketAddr {
    if !bound.ip().is_unspecified() {
        return bound;
    }
    let route = |to: &str| {
        let here = SocketAddr::new(bound.ip(), 0);
        let socket = UdpSocket::bind(here).ok()?;
        // Connecting a UDP socket chooses the route, and with it the local address.
        socket.connect(to).ok()?;
        socket.local_addr().ok().map(|it| it.ip()).filter(|it| !it.is_unspecified())
    };
    let found = ELSEWHERE.iter().find_map(|to| route(to));
    found.map_or(bound, |ip| SocketAddr::new(ip.to_canonical(), bound.port()))
}

/// Returns a note about what others can use instead of the address that is printed. `None` if the
/// socket listens on one address.
pub(crate) fn note(bound: SocketAddr) -> Option<String> {
    if !bound.ip().is_unspecified() {
        return None;
    }
    Some(match address(bound) {
        shown if shown == bound => format!(
            "note: it listens on all addresses of this machine; others put one of them in the \
             place of {}",
            bound.ip()
        ),
        shown => format!(
            "note: it listens on all addresses of this machine; {} is the one in its network. \
             From outside use its public name or address, with UDP port {} open",
            shown.ip(),
            shown.port()
        ),
    })
}

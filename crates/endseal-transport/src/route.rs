//! Packet size of the first hop of a path.

use std::net::SocketAddr;

/// Returns the largest UDP payload to `remote`, in bytes, that the first hop carries without
/// fragmentation, as the system knows it now; `None` if the system does not know.
///
/// No path carries more than its first hop, so larger packets need not be tried: 1,452 or 1,472
/// bytes on Ethernet, more on networks with larger frames and on loopback. The other hops are
/// probed on the path (RFC 8899).
#[cfg(target_os = "linux")]
pub(crate) fn largest_payload(remote: SocketAddr) -> Option<u16> {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

    use rustix::net::sockopt;

    // Lengths of the headers of UDP and of IP without options.
    const UDP: u32 = 8;
    const IPV4: u32 = 20;
    const IPV6: u32 = 40;

    // A dual-stack socket reports IPv4 peers as mapped addresses.
    let remote = SocketAddr::new(remote.ip().to_canonical(), remote.port());
    let any: IpAddr = match remote {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // Connecting a UDP socket looks up the route and sends nothing.
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(remote).ok()?;
    let payload = match remote {
        SocketAddr::V4(_) => sockopt::ip_mtu(&socket).ok()?.checked_sub(IPV4 + UDP)?,
        SocketAddr::V6(_) => sockopt::ipv6_mtu(&socket).ok()?.checked_sub(IPV6 + UDP)?,
    };
    Some(u16::try_from(payload).unwrap_or(u16::MAX))
}

/// Returns `None`: only Linux is queried.
#[cfg(not(target_os = "linux"))]
pub(crate) fn largest_payload(_remote: SocketAddr) -> Option<u16> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_takes_more_than_ethernet() {
        let mapped = largest_payload("[::ffff:127.0.0.1]:9".parse().unwrap());
        let own = largest_payload("127.0.0.1:9".parse().unwrap());
        assert!(own > Some(1472), "{own:?}");
        assert_eq!(mapped, own);
    }

    #[test]
    fn no_route_is_no_answer() {
        // A link-local address without a scope has no route.
        assert_eq!(largest_payload("[fe80::1]:9".parse().unwrap()), None);
    }
}

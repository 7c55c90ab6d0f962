//! Listener for pages that only browsers on this machine reach.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::io;

use tokio::net::TcpListener;

use super::origin::Origin;
use super::session::token;

/// Attempts to find a port that is free at both loopback addresses.
const ATTEMPTS: usize = 16;

/// Listens at `address`, which must be `127.0.0.1` or `::1`, and at the same port of the other of
/// the two. Returns the listeners and the origin of the page: a random host name below `localhost`,
/// which browsers resolve to both addresses by themselves.
///
/// Cookies know no ports: at `127.0.0.1` a browser would send those of the page to servers of other
/// accounts, too. They do not know the name, and cannot listen at the address that a browser tries
/// first.
///
/// # Errors
/// The error of the system if one of the two addresses cannot be listened at or there are no random
/// bytes. A machine may lack the other address.
pub async fn listen_on_loopback(address: SocketAddr) -> io::Result<(Vec<TcpListener>, Origin)> {
    let other: IpAddr = match address.ip() {
        IpAddr::V4(Ipv4Addr::LOCALHOST) => Ipv6Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::LOCALHOST) => Ipv4Addr::LOCALHOST.into(),
        _ => return Err(io::ErrorKind::InvalidInput.into()),
    };
    let name = token().map_err(io::Error::other)?;
    let has_other = TcpListener::bind((other, 0)).await.is_ok();
    let mut attempt = 1;
    loop {
        let mut listeners = vec![TcpListener::bind(address).await?];
        let port = listeners.iter().find_map(|it| it.local_addr().ok()).map_or(0, |it| it.port());
        if has_other {
            match TcpListener::bind((other, port)).await {
                Ok(listener) => listeners.push(listener),
                Err(_) if address.port() == 0 && attempt < ATTEMPTS => {
                    attempt += 1;
                    continue;
                }
                Err(error) => return Err(error),
            }
        }
        return Ok((listeners, Origin::local(&name, port)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_local_page_has_a_random_name_and_both_addresses() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let (listeners, origin) = listen_on_loopback(address.parse().unwrap()).await.unwrap();
            let addresses: Vec<_> = listeners.iter().map(|it| it.local_addr().unwrap()).collect();
            let port = addresses[0].port();
            let text = origin.to_string();
            let name = text.strip_prefix("http://").unwrap();
            let name = name.strip_suffix(&format!(".localhost:{port}")).unwrap();
            assert!(name.len() == 32 && name.bytes().all(|it| it.is_ascii_hexdigit()), "{text}");
            let (again, other) = listen_on_loopback(address.parse().unwrap()).await.unwrap();
            assert!(!other.to_string().contains(name) && again.len() == listeners.len());
            // A machine without IPv6 has one address.
            let has_both = std::net::TcpListener::bind("[::1]:0").is_ok();
            assert_eq!(listeners.len(), if has_both { 2 } else { 1 });
            for other in ["127.0.0.1", "::1"].iter().take(listeners.len()) {
                assert!(std::net::TcpListener::bind((*other, port)).is_err(), "{other}");
            }
        }
        for address in ["0.0.0.0:0", "127.0.0.2:0", "[::]:0", "192.0.2.1:0"] {
            assert!(listen_on_loopback(address.parse().unwrap()).await.is_err(), "{address}");
        }
    }

    #[tokio::test]
    async fn a_local_page_does_not_start_if_another_has_its_port() {
        let Ok(taken) = std::net::TcpListener::bind("[::1]:0") else { return };
        let port = taken.local_addr().unwrap().port();
        let refused = listen_on_loopback(SocketAddr::from(([127, 0, 0, 1], port))).await;
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }
}

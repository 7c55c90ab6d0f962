//! Admission of client connections: a limit on all of them, and one for each peer address.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use crate::config::Limits;
use crate::observability::Metrics;

/// Timeout for the headers of a request if few connections are free. Clients that send nothing then
/// make way for others soon.
const CROWDED_HEADER_TIMEOUT: Duration = Duration::from_secs(2);

/// Minimum time between two warnings about the same limit.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// Client connections of a server.
pub(super) struct ClientConnections {
    free: Arc<Semaphore>,
    limit: usize,
    limit_per_peer: usize,
    open: Arc<Open>,
    full: Warning,
    full_of_peer: Warning,
}

/// Connections that are open.
struct Open {
    /// Number of connections by network of the peer.
    peers: Mutex<HashMap<IpAddr, usize>>,
    metrics: Arc<Metrics>,
}

/// Connection that was admitted. It counts until this is dropped.
pub(super) struct Admitted {
    _permit: OwnedSemaphorePermit,
    peer: IpAddr,
    open: Arc<Open>,
}

/// Time of the last warning about a limit.
#[derive(Default)]
struct Warning(Mutex<Option<Instant>>);

impl ClientConnections {
    pub(super) fn new(limits: &Limits, metrics: Arc<Metrics>) -> Self {
        metrics.connection_limit.store(limits.connections as u64, Relaxed);
        Self {
            free: Arc::new(Semaphore::new(limits.connections)),
            limit: limits.connections,
            limit_per_peer: limits.connections_per_peer(),
            open: Arc::new(Open { peers: Mutex::default(), metrics }),
            full: Warning::default(),
            full_of_peer: Warning::default(),
        }
    }

    /// Waits until another connection may be accepted. Logs a warning if it has to wait.
    ///
    /// # Errors
    /// None in practice: the semaphore is never closed.
    pub(super) async fn free(&self) -> io::Result<OwnedSemaphorePermit> {
        if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
            return Ok(permit);
        }
        if self.full.is_due() {
            let cause = format!("limits.connections = {} is reached, others wait", self.limit);
            tracing::warn!(target: "failure", kind = "connections", cause);
        }
        Arc::clone(&self.free).acquire_owned().await.map_err(io::Error::other)
    }

    /// Admits an accepted connection. Returns `None` if its peer has as many connections as one
    /// address may have. The caller MUST close the connection then.
    pub(super) fn admit(&self, peer: SocketAddr, permit: OwnedSemaphorePermit) -> Option<Admitted> {
        let network = network(peer.ip());
        let mut peers = self.open.peers();
        let count = peers.entry(network).or_default();
        if *count >= self.limit_per_peer {
            drop(peers);
            self.open.metrics.connections_refused.fetch_add(1, Relaxed);
            if self.full_of_peer.is_due() {
                let limit = self.limit_per_peer;
                let cause = format!("limits.connections_per_peer = {limit} is reached");
                tracing::warn!(target: "failure", kind = "connections_per_peer", peer = %peer, cause);
            }
            return None;
        }
        *count += 1;
        drop(peers);
        self.open.metrics.connections.fetch_add(1, Relaxed);
        Some(Admitted { _permit: permit, peer: network, open: Arc::clone(&self.open) })
    }

    /// Returns the timeout for the headers of a request on a new connection. It is shorter if less
    /// than a quarter of the connections is free.
    pub(super) fn header_timeout(&self, configured: Duration) -> Duration {
        match self.free.available_permits() < self.limit / 4 {
            true => configured.min(CROWDED_HEADER_TIMEOUT),
            false => configured,
        }
    }

    /// Waits until all connections have ended, at most for `longest`. Returns the number of those
    /// that have not.
    pub(super) async fn drain(&self, longest: Duration) -> usize {
        let all = u32::try_from(self.limit).unwrap_or(u32::MAX);
        // Each connection holds a permit until it ends.
        match timeout(longest, self.free.acquire_many(all)).await {
            Ok(_) => 0,
            Err(_) => self.limit.saturating_sub(self.free.available_permits()),
        }
    }
}

impl Open {
    fn peers(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        // No code that holds the lock can panic.
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.open.metrics.connections.fetch_sub(1, Relaxed);
        let mut peers = self.open.peers();
        if let Some(count) = peers.get_mut(&self.peer) {
            *count -= 1;
            if *count == 0 {
                peers.remove(&self.peer);
            }
        }
    }
}

impl Warning {
    /// Returns true at most once in [`WARNING_INTERVAL`].
    fn is_due(&self) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| last.elapsed() >= WARNING_INTERVAL);
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }
}

/// Returns the network that counts as one peer: an IPv4 address, or the first 64 bits of an IPv6
/// address, which one customer of a provider has for itself.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let bits = u128::from(address) >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from(bits))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::network;

    #[test]
    fn a_network_of_ipv6_is_one_peer() {
        for (address, expected) in [
            ("192.0.2.7", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ] {
            assert_eq!(
                network(address.parse().unwrap()),
                expected.parse::<core::net::IpAddr>().unwrap()
            );
        }
    }
}

//! Admission of client connections: a limit on all of them, and one for each client address.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::client_address::ClientAddress;
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
    open: Arc<Open>,
    full: Warning,
}

/// Connections that are open.
struct Open {
    /// Number of connections by network of the client.
    peers: Mutex<HashMap<IpAddr, usize>>,
    limit_per_peer: usize,
    full_of_peer: Warning,
    proxy_header: Warning,
    metrics: Arc<Metrics>,
}

/// Connection that was admitted. It counts until this is dropped. One of a balancer counts for the
/// client of its last request.
pub(super) struct Admitted {
    _permit: OwnedSemaphorePermit,
    /// Network of the client for which it counts, if that is known.
    peer: Mutex<Option<IpAddr>>,
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
            open: Arc::new(Open {
                peers: Mutex::default(),
                limit_per_peer: limits.connections_per_peer(),
                full_of_peer: Warning::default(),
                proxy_header: Warning::default(),
                metrics,
            }),
            full: Warning::default(),
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

    /// Admits an accepted connection. It counts for no client until
    /// [`count_for`](Admitted::count_for) is called.
    pub(super) fn admit(&self, permit: OwnedSemaphorePermit) -> Admitted {
        self.open.metrics.connections.fetch_add(1, Relaxed);
        Admitted { _permit: permit, peer: Mutex::default(), open: Arc::clone(&self.open) }
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

impl Admitted {
    /// Counts the connection for a client, and no longer for another one. Returns false if the
    /// client has as many connections as one address may have. The caller MUST refuse the
    /// connection or the request then.
    pub(super) fn count_for(&self, client: ClientAddress) -> bool {
        let network = network(client.ip);
        let mut own = lock(&self.peer);
        if *own == Some(network) {
            return true;
        }
        let mut peers = lock(&self.open.peers);
        let count = peers.entry(network).or_default();
        if *count < self.open.limit_per_peer {
            *count += 1;
            if let Some(previous) = own.replace(network) {
                leave(&mut peers, previous);
            }
            return true;
        }
        drop((peers, own));
        self.open.metrics.connections_refused.fetch_add(1, Relaxed);
        if self.open.full_of_peer.is_due() {
            let limit = self.open.limit_per_peer;
            let cause = format!("limits.connections_per_peer = {limit} is reached");
            tracing::warn!(target: "failure", kind = "connections_per_peer", peer = %client, cause);
        }
        false
    }

    /// Counts a connection of a balancer whose PROXY header was not accepted, and logs a warning.
    pub(super) fn refuse_header(&self, peer: SocketAddr, cause: &str) {
        self.open.metrics.proxy_headers_refused.fetch_add(1, Relaxed);
        if self.open.proxy_header.is_due() {
            tracing::warn!(target: "failure", kind = "proxy_header", peer = %peer, cause);
        }
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.open.metrics.connections.fetch_sub(1, Relaxed);
        if let Some(network) = lock(&self.peer).take() {
            leave(&mut lock(&self.open.peers), network);
        }
    }
}

fn leave(peers: &mut HashMap<IpAddr, usize>, network: IpAddr) {
    if let Some(count) = peers.get_mut(&network) {
        *count -= 1;
        if *count == 0 {
            peers.remove(&network);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that holds a lock can panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

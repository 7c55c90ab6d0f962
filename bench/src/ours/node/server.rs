//! Hubs in this process, for cases that do not measure their memory.

use core::net::SocketAddr;
use core::time::Duration;

use endseal_crypto::ed25519::Seed;
use endseal_crypto::identity::Identity;
use endseal_crypto::mlkem768;
use endseal_crypto::peer_id::PeerId;
use endseal_hub::{Hub, HubLimits};
use endseal_transport::{Policy, TransportKey};
use tokio::runtime::Runtime;

use super::database::Database;
use crate::duplex::relay::HERE;
use crate::ours::sessions::folder::Failure;
use crate::s3::listen;

/// Time limit for the hub's other threads when it ends.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Hubs over one database, each with threads of its own. They end with this value.
pub(super) struct Server {
    hubs: Vec<(Hub, Runtime)>,
    pub(super) addresses: Vec<SocketAddr>,
    // Dropped after the hubs.
    pub(super) database: Database,
}

/// Limits that no case reaches, because quotas are not measured.
pub(super) fn limits() -> HubLimits {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate) = (100_000_000, 100_000_000);
    (limits.mailbox_frames, limits.mailbox_bytes) = (u64::MAX, u64::MAX);
    limits
}

/// Returns the same key for every hub, so that a node can reconnect to a hub that was restarted.
pub(super) fn key() -> TransportKey {
    let seeds = (Seed::from_bytes(&[77; 32]), mlkem768::Seed::from_bytes(&[78; 64]));
    TransportKey::new(&Identity::from_seeds(seeds.0, seeds.1))
}

impl Server {
    pub(super) fn start(database: Database, hubs: usize) -> Result<Self, Failure> {
        let mut own = Self { hubs: Vec::new(), addresses: Vec::new(), database };
        for _ in 0..hubs {
            let runtime = listen::runtime()?;
            let entered = runtime.enter();
            let store = own.database.open()?;
            let hub = Hub::serve(HERE, &key(), Policy::default(), store, limits())?;
            own.addresses.push(hub.local_address()?);
            drop(entered);
            own.hubs.push((hub, runtime));
        }
        Ok(own)
    }

    /// Returns the peer id of every hub here.
    pub(super) fn peer() -> PeerId {
        key().peer_id()
    }

    /// Reads a counter of all hubs. `name` is without the prefix `endseal_hub_`.
    pub(super) fn counter(&self, name: &str) -> Result<f64, Failure> {
        let line = format!("endseal_hub_{name} ");
        let of = |(hub, runtime): &(Hub, Runtime)| {
            let text = runtime.block_on(hub.metrics_text());
            let value = text.lines().find_map(|it| it.strip_prefix(&*line));
            Ok(value.ok_or("the hub has no such counter")?.trim().parse::<f64>()?)
        };
        self.hubs.iter().map(of).sum()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for (hub, runtime) in self.hubs.drain(..) {
            runtime.block_on(hub.close());
            runtime.shutdown_timeout(CLOSE_TIMEOUT);
        }
    }
}

//! A hub: in this process, or in a process of its own, whose memory is then that of the hub.

use core::convert::Infallible;
use core::future::pending;
use core::net::SocketAddr;
use core::time::Duration;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;

use endseal_crypto::ed25519::Seed;
use endseal_crypto::identity::Identity;
use endseal_crypto::mlkem768;
use endseal_crypto::peer_id::PeerId;
use endseal_hub::{Hub, HubLimits, SqliteStore};
use endseal_transport::{Policy, TransportKey};
use tokio::runtime::Runtime;

use super::database::Database;
use crate::duplex::relay::HERE;
use crate::s3::listen;
use crate::subject::Failure;

/// Time limit for the hub's other threads when it ends.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A hub with threads of its own. It ends with this value.
pub(super) struct Server {
    hub: Option<(Hub, Runtime)>,
    pub(super) address: SocketAddr,
    // Dropped after the hub.
    pub(super) database: Database,
}

/// Limits that no case reaches, because quotas are not measured.
fn limits() -> HubLimits {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate) = (100_000_000, 100_000_000);
    (limits.mailbox_frames, limits.mailbox_bytes) = (u64::MAX, u64::MAX);
    limits
}

/// Returns the same key for every hub, so that a node can reconnect to a hub that was restarted.
fn key() -> TransportKey {
    let seeds = (Seed::from_bytes(&[77; 32]), mlkem768::Seed::from_bytes(&[78; 64]));
    TransportKey::new(&Identity::from_seeds(seeds.0, seeds.1))
}

/// Returns the peer id of every hub here.
pub(super) fn peer() -> PeerId {
    key().peer_id()
}

/// Serves the database that `arguments` name, and prints the hub's address.
///
/// # Errors
/// Fails if the arguments are wrong, or if the hub cannot open the database or listen.
pub(crate) fn serve(arguments: &[OsString]) -> Result<Infallible, Failure> {
    let database = arguments.first().ok_or("which database?")?;
    listen::runtime()?.block_on(async {
        let store = Box::new(SqliteStore::open(Path::new(database))?);
        let hub = Hub::serve(HERE, &key(), Policy::default(), store, limits())?;
        let mut out = io::stdout().lock();
        writeln!(out, "{}{}", listen::GREETING, hub.local_address()?)?;
        out.flush()?;
        drop(out);
        pending().await
    })
}

impl Server {
    pub(super) fn start(database: Database) -> Result<Self, Failure> {
        let runtime = listen::runtime()?;
        let entered = runtime.enter();
        let hub = Hub::serve(HERE, &key(), Policy::default(), database.open()?, limits())?;
        let address = hub.local_address()?;
        drop(entered);
        Ok(Self { hub: Some((hub, runtime)), address, database })
    }

    /// Reads a counter of the hub. `name` is without the prefix `endseal_hub_`.
    pub(super) fn counter(&self, name: &str) -> Result<f64, Failure> {
        let (hub, runtime) = self.hub.as_ref().ok_or("the hub has ended")?;
        let line = format!("endseal_hub_{name} ");
        let text = runtime.block_on(hub.metrics_text());
        let value = text.lines().find_map(|it| it.strip_prefix(&*line));
        Ok(value.ok_or("the hub has no such counter")?.trim().parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some((hub, runtime)) = self.hub.take() {
            runtime.block_on(hub.close());
            runtime.shutdown_timeout(CLOSE_TIMEOUT);
        }
    }
}

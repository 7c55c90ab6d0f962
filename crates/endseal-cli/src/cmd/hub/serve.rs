//! `endseal hub serve`: runs a hub.

use core::future::pending;
use core::net::SocketAddr;
use core::time::Duration;
use std::net::UdpSocket;

use endseal_hub::{Hub, HubLimits, ServeError};
use endseal_keyring::PeerIdText;
use endseal_transport::{BindError, Policy};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::place::{self, Place};
use crate::ctx::{Ctx, Outcome};
use crate::duration::{self, SECOND, WEEK};
use crate::failure::{Failure, Kind};
use crate::log::{self, Level};
use crate::peer_address::DEFAULT_PORT;
use crate::{json, network, reachable};

/// Serve nodes until ^C
///
/// Prints PEERID@ADDRESS when nodes reach it. With 0.0.0.0 that is the address of this machine in
/// its network; invitations name the one that all nodes reach. Everything it confirms is on the
/// disk.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Address to listen on; 0.0.0.0:4433 is reachable from other machines
    #[arg(long, value_name = "IP:PORT")]
    #[arg(default_value_t = SocketAddr::from(([127, 0, 0, 1], DEFAULT_PORT)))]
    listen: SocketAddr,
    /// Address to listen on for /metrics, /healthz and /readyz, which have no password
    #[arg(long, value_name = "IP:PORT")]
    metrics: Option<SocketAddr>,
    /// Frames that a device may send in a second on average
    ///
    /// A frame counts once for each mailbox. 1,024 may be sent at once, or as many as in a second.
    #[arg(long, value_name = "FRAMES", default_value_t = HubLimits::default().rate)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: u32,
    /// MiB that the database may have; above it, texts are refused [default: no limit]
    ///
    /// In PostgreSQL, what waits is counted.
    #[arg(long, value_name = "MIB")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    capacity: Option<u64>,
    /// MiB that are kept free on the disk
    ///
    /// While less is free, texts are refused. What waits is still delivered and deleted, which
    /// makes room again.
    #[arg(long, value_name = "MIB", default_value_t = HubLimits::default().reserve >> 20)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    reserve: u64,
    /// Time after which a frame that no device fetched is deleted
    ///
    /// Its sender and its receiver learn of it. The hub looks every ten minutes and when it starts.
    #[arg(long, value_name = "TIME", default_value = "30d")]
    #[arg(value_parser = duration::between(SECOND, 52 * WEEK))]
    retention: Duration,
    /// Ask members for an invitation for each further device, too
    ///
    /// Without this, a device whose person record the root has signed registers by itself: a person
    /// who lost a laptop comes back with the 24 words.
    #[arg(long)]
    invite_devices: bool,
    #[command(flatten)]
    place: Place,
    /// Least severe events that are logged on standard error
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: Level,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    if args.place.open(ctx).and_then(|it| it.key()).is_err() {
        // If another hub listens at this address, no new hub is created: nodes with its invitations
        // would reach the other hub.
        UdpSocket::bind(args.listen)
            .map_err(|error| network::bind(args.listen, &BindError::Socket(error)))?;
    }
    let folder = args.place.make(ctx)?;
    // Several hubs may serve from one server.
    let _occupied = folder.has_file().then(|| folder.occupy()).transpose()?;
    let (key, store) = (folder.key()?, args.place.store_of(&folder, ctx)?);
    let level = if ctx.global.quiet { Level::Off } else { args.log };
    let _log = log::start(level).map_err(|error| {
        Failure::new(Kind::Environment, "the log cannot be written").because(&error)
    })?;
    network::run(ctx.global.json, async |mut interrupt| {
        let metrics = match args.metrics {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        let url = metrics.as_ref().map(|(_, address)| format!("http://{address}/metrics"));
        let mut limits = HubLimits::default();
        limits.rate = args.rate;
        limits.reserve = args.reserve << 20;
        limits.database_bytes = args.capacity.map_or(u64::MAX, |it| it << 20);
        limits.retention = args.retention;
        limits.invites_devices = args.invite_devices;
        limits.burst = limits.burst.max(args.rate);
        let served = Hub::serve(args.listen, &key, Policy::default(), store, limits);
        let hub = served.map_err(|error| match error {
            ServeError::Storage(error) => place::storage(&error),
            ServeError::Bind(error) => network::bind(args.listen, &error),
            error => Failure::new(Kind::Environment, "the hub cannot start").because(&error),
        })?;
        let address = hub
            .local_address()
            .map_err(|error| network::bind(args.listen, &BindError::Socket(error)))?;
        let peer = PeerIdText::from(hub.peer_id());
        let text = if ctx.global.json {
            json::line(&json::object([
                ("peer_id", peer.to_string().into()),
                ("address", address.to_string().into()),
                ("metrics", url.into()),
            ]))
        } else {
            let metrics = url.map(|url| format!("metrics at {url}\n"));
            let shown = reachable::address(address);
            format!("{peer}@{shown}\n{}", metrics.unwrap_or_default())
        };
        ctx.print(text.as_bytes())?;
        if let Some(note) = reachable::note(address) {
            ctx.note(&note);
        }
        let served = async {
            match metrics {
                Some((listener, _)) => hub.serve_metrics(listener).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = interrupt.wait() => {}
            () = served => {}
        }
        // A peer that has ended without a close message does not answer ours.
        let _late = timeout(network::CLOSE_TIMEOUT, hub.close()).await;
        Ok(())
    })?;
    Ok(Outcome::default())
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Failure> {
    let failed = |error| {
        Failure::new(Kind::Environment, format!("cannot listen at {address}"))
            .because(&error)
            .hint("end the process that listens there, or choose another address with --metrics")
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

//! `endseal hub serve`

use core::net::SocketAddr;

use endseal_hub::{Hub, HubLimits, ServeError};
use endseal_keyring::PeerIdText;
use endseal_transport::Policy;

use super::place::{self, Place};
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::log::{self, Level};
use crate::peer_address::DEFAULT_PORT;
use crate::{json, network};

/// Serve nodes until ^C
///
/// Prints PEERID@ADDRESS when nodes reach it. Everything it confirms is on the disk.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Address to listen on; 0.0.0.0:4433 is reachable from other machines
    #[arg(long, value_name = "IP:PORT")]
    #[arg(default_value_t = SocketAddr::from(([127, 0, 0, 1], DEFAULT_PORT)))]
    listen: SocketAddr,
    #[command(flatten)]
    place: Place,
    /// Least severe events that are logged on standard error
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: Level,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let folder = args.place.make(ctx)?;
    let _occupied = folder.occupy()?;
    let (key, store) = (folder.key()?, folder.store()?);
    let level = if ctx.global.quiet { Level::Off } else { args.log };
    let _log = log::start(level).map_err(|error| {
        Failure::new(Kind::Environment, "the log cannot be written").because(&error)
    })?;
    network::run(ctx.global.json, async |mut interrupt| {
        let limits = HubLimits::default();
        let served = Hub::serve(args.listen, &key, Policy::default(), store, limits);
        let hub = served.map_err(|error| match error {
            ServeError::Storage(error) => place::storage(&error),
            ServeError::Bind(error) => network::bind(args.listen, &error),
            error => Failure::new(Kind::Environment, "the hub cannot start").because(&error),
        })?;
        let address = hub.local_address().map_err(|error| {
            network::bind(args.listen, &endseal_transport::BindError::Socket(error))
        })?;
        let peer = PeerIdText::from(hub.peer_id());
        let text = if ctx.global.json {
            let listening =
                [("peer_id", peer.to_string().into()), ("address", address.to_string().into())];
            json::line(&json::object(listening))
        } else {
            format!("{peer}@{address}\n")
        };
        ctx.print(text.as_bytes())?;
        interrupt.wait().await;
        hub.close().await;
        Ok(())
    })?;
    Ok(Outcome::default())
}

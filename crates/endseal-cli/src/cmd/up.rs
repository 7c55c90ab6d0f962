//! `endseal up`: stays connected to the hub.

use endseal_keyring::PeerIdText;
use endseal_node::api::Client;
use endseal_node::messages::{NodeFiles, SyncError, hub_limits, membership};
use endseal_node::service::{BindServiceError, DialError, Service, ServiceEvent, ServiceOptions};
use endseal_transport::TransportKey;

use super::join::hosts;
use super::session::StoreArgs;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::hub_moves;
use crate::json;
use crate::log::{self, Level};
use crate::network::{self, Destination, Timeouts};
use crate::passphrase;
use crate::sessions::{open, work_and_close};

/// Send and receive at once, until ^C
///
/// It stays connected to the hub, connects again whenever the connection is lost, and prints a line
/// when commands reach it. Meanwhile endseal say, sync, inbox, history, unsend, block and status go
/// through it, over a socket in the state directory that only you can use.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    timeouts: Timeouts,
    /// Least severe events that are logged on standard error
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: Level,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let home = ctx.home()?;
    // Check before the user types a passphrase.
    if Client::find(&home)?.is_some() {
        let message = format!("endseal up runs already in '{}'", home.path().display());
        return Err(Failure::new(Kind::Environment, message).hint("endseal status shows it"));
    }
    let device = passphrase::unlock_device(ctx, &home)?;
    let person = home.person()?;
    let key = TransportKey::new(&device);
    let engine = open(&home, &device, args.store.wait)?;
    let files = NodeFiles::new(&home);
    let as_json = ctx.global.json;
    let level = if ctx.global.quiet { Level::Off } else { args.log };
    work_and_close(engine, ctx, |engine, ctx| {
        let known = membership(engine)?.ok_or(SyncError::NotJoined)?;
        let _log = log::start(level).map_err(|error| {
            Failure::new(Kind::Environment, "the log cannot be written").because(&error)
        })?;
        network::run(as_json, async |mut interrupt| {
            let (peer, timeouts) = (known.hub, args.timeouts);
            let mut options = ServiceOptions::default();
            options.timeout = timeouts.idle;
            let service = Service::bind(&home, options)?;
            let hub = known.addresses.as_str();
            let text = if as_json {
                let peer = PeerIdText::from(peer).to_string();
                json::line(&json::object([("hub", hub.into()), ("hub_peer_id", peer.into())]))
            } else {
                format!("endseal up runs, with the hub at {hub}\n")
            };
            ctx.print(text.as_bytes())?;
            let dial = async |addresses: &str| {
                let dialed = async {
                    let hosts = hosts(addresses.split(' '))?;
                    let to = Destination { peer, hosts: &hosts, timeouts, limits: hub_limits() };
                    network::dial(&key, &to).await
                };
                dialed.await.map_err(|failure| {
                    let is_transient = failure.kind == Kind::Environment;
                    DialError { cause: failure.line(), is_transient }
                })
            };
            let own = (&person, &device);
            service.run(engine, own, &files, dial, note, interrupt.wait()).await;
            Ok(())
        })
    })?;
    Ok(Outcome::default())
}

/// Writes a change of state to the log.
fn note(event: ServiceEvent) {
    match event {
        ServiceEvent::Connected => tracing::info!(target: "node", "connected"),
        ServiceEvent::Disconnected { cause } => {
            tracing::warn!(target: "node", cause, "not connected");
        }
        ServiceEvent::Refused { cause } => tracing::warn!(
            target: "node",
            cause,
            "refused: endseal sync says what helps; endseal devices renew, if this directory is a copy"
        ),
        ServiceEvent::MailboxFull(true) => {
            tracing::warn!(target: "node", "a mailbox is full; its texts wait here");
        }
        ServiceEvent::MailboxFull(false) => tracing::info!(target: "node", "no mailbox is full"),
        ServiceEvent::Unasked { requests, no_room, blocked } => {
            tracing::info!(target: "node", requests, no_room, blocked, "see endseal inbox --requests");
        }
        ServiceEvent::Membership { teams, left, departures, replaced, changes } => {
            tracing::info!(
                target: "node", teams, left, departures, replaced, changes,
                "groups have changed: endseal group list"
            );
        }
        ServiceEvent::HubMove(hub_move) => {
            let (is_warning, text) = hub_moves::line(&hub_move);
            match is_warning {
                true => tracing::warn!(target: "node", "{text}"),
                false => tracing::info!(target: "node", "{text}"),
            }
        }
        ServiceEvent::Problems { problems, lost } => {
            tracing::warn!(target: "node", problems, lost, "see endseal inbox --problems");
        }
        _ => {}
    }
}

impl From<BindServiceError> for Failure {
    fn from(error: BindServiceError) -> Self {
        let failure = Self::of(Kind::Environment, &error);
        match error.source.kind() {
            std::io::ErrorKind::InvalidInput => failure
                .hint("its path may have 107 bytes: name a shorter state directory with --home"),
            _ => failure,
        }
    }
}

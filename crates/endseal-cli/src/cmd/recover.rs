//! `endseal recover`

use core::time::Duration;
use std::path::{Path, PathBuf};

use endseal_crypto::identity::Identity;
use endseal_node::messages::{HubClient, PersonAtHub, hub_limits, membership, recover, register};
use endseal_node::{Home, OtherDevices};
use endseal_transport::TransportKey;

use super::init::{self, Creation, Keys};
use super::{id, join};
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::network::{self, Destination, Timeouts};
use crate::peer_address::HubAddress;
use crate::printable::plural;
use crate::sessions::{open, work_and_close};
use crate::{exposed, passphrase};

/// Come back to a hub with the 24 words, on a new machine
///
/// Makes an identity of the words (standard input, or typed) with a new device, fetches the record
/// of your devices from the hub, and registers the new device there. Say what becomes of the other
/// devices: after a theft revoke them, and they get nothing from then on. Conversations, contacts
/// and groups of other devices do not come with it.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    at: At,
    #[command(flatten)]
    others: Others,
    /// Take the identity from an exported file (endseal id export) instead of words
    #[arg(long, value_name = "FILE")]
    exported: Option<PathBuf>,
    #[command(flatten)]
    creation: Creation,
    #[command(flatten)]
    timeouts: Timeouts,
}

#[derive(clap::Args, Debug)]
#[group(required = true, multiple = false)]
struct At {
    /// The hub, as endseal status prints it: PEERID@HOST:PORT
    hub: Option<HubAddress>,
    /// A new invitation, which names the hub, too
    #[arg(long, value_name = "FILE")]
    invitation: Option<PathBuf>,
}

#[derive(clap::Args, Debug)]
#[group(required = true, multiple = false)]
struct Others {
    /// Revoke all other devices
    #[arg(long)]
    revoke_others: bool,
    /// Keep the other devices
    #[arg(long)]
    keep_others: bool,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let invitation = match &args.at.invitation {
        Some(file) => {
            exposed::warn(file, ctx);
            Some(join::read(Some(file), ctx)?)
        }
        None => None,
    };
    let hub = match (&args.at.hub, &invitation) {
        (Some(hub), _) => hub.clone(),
        (None, Some(invitation)) => HubAddress::of(invitation)?,
        (None, None) => return Err(Failure::usage("no hub is named")),
    };
    let root = read_root(args.exported.as_deref(), ctx)?;
    let creation = match is_unregistered(&root, ctx)? {
        true => args.creation.forced(),
        false => args.creation,
    };
    creation.check(ctx)?;
    let keys = Keys::make(&root, creation, ctx)?;
    let key = TransportKey::new(&keys.device);
    let to = Destination {
        peer: hub.peer,
        hosts: &hub.hosts,
        timeouts: args.timeouts,
        limits: hub_limits(),
    };
    let at_hub = ask(&root, &key, &to, ctx)?;
    let others = if args.others.revoke_others { OtherDevices::Revoke } else { OtherDevices::Keep };
    let before = at_hub.record.devices().count();
    let made = keys.install(&root, creation, Some(&at_hub.record), others, ctx)?;
    let home = ctx.home()?;
    let record = home.person()?;
    let engine = open(&home, &keys.device, Duration::ZERO)?;
    let token = invitation.as_ref().map(endseal_keyring::Invitation::token);
    let as_json = ctx.global.json;
    let addresses = hub.addresses();
    work_and_close(engine, ctx, |engine, _| {
        network::run(as_json, async |mut interrupt| {
            let registered = interrupt.with_connection(&key, &to, async |connection| {
                let hub = HubClient::new(connection, args.timeouts.idle);
                Ok(register(&hub, engine, &addresses, token, &record).await?)
            });
            registered.await
        })
    })
    .map_err(|failure| {
        failure.hint(
            "the hub may have registered this device: run the same endseal recover again, and \
             look at endseal devices list then",
        )
    })?;
    let revoked = if args.others.revoke_others { before } else { 0 };
    ctx.note(&format!(
        "this device is registered at {addresses}; {} revoked",
        plural(revoked as u64, "device")
    ));
    Ok(made)
}

/// Returns true if the identity is here with a device that was never registered, as an interrupted
/// recovery leaves it.
fn is_unregistered(root: &Identity, ctx: &mut Ctx) -> Result<bool, Failure> {
    let Ok(home) = Home::open(&ctx.home_path()?) else { return Ok(false) };
    if home.identity().is_ok_and(|it| it.public() != root.public()) || home.device().is_err() {
        return Ok(false);
    }
    let device = passphrase::unlock_device(ctx, &home)?;
    let sessions = home.sessions(&device, Duration::ZERO);
    Ok(sessions.is_ok_and(|mut it| matches!(membership(&mut it), Ok(None))))
}

/// Reads the root from words, or from an exported secret.
fn read_root(secret: Option<&Path>, ctx: &mut Ctx) -> Result<Identity, Failure> {
    match secret {
        Some(file) => {
            exposed::warn(file, ctx);
            id::read_secret(Some(file), file, ctx)
        }
        None => Ok(Identity::from_root_seed(init::of_paper(ctx)?)),
    }
}

/// The record of a root at the hub.
pub(super) fn ask(
    root: &Identity,
    key: &TransportKey,
    to: &Destination<'_>,
    ctx: &Ctx,
) -> Result<PersonAtHub, Failure> {
    let found = network::run(ctx.global.json, async |mut interrupt| {
        let asked = interrupt.with_connection(key, to, async |connection| {
            let hub = HubClient::new(connection, to.timeouts.idle);
            Ok(recover(&hub, root, &key.peer_id()).await?)
        });
        asked.await
    })?;
    found.ok_or_else(|| {
        Failure::new(Kind::Refused, "the hub does not know this identity").hint(
            "compare the words and the hub; a person who is new there runs endseal init, then \
             endseal join FILE",
        )
    })
}

//! `endseal recover`

use core::time::Duration;
use std::path::{Path, PathBuf};

use endseal_crypto::identity::Identity;
use endseal_keyring::device::DeviceId;
use endseal_keyring::{Invitation, PersonRecord};
use endseal_node::messages::{
    HubClient, PersonAtHub, hub_limits, is_unfinished, recover, register,
};
use endseal_node::{Home, OtherDevices};
use endseal_session::Engine;
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
/// and groups of other devices do not come with it: endseal restore brings those of a backup.
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
pub(super) struct Others {
    /// Revoke all other devices
    #[arg(long)]
    revoke_others: bool,
    /// Keep the other devices
    #[arg(long)]
    keep_others: bool,
}

impl Others {
    pub(super) fn choice(&self) -> OtherDevices {
        if self.revoke_others { OtherDevices::Revoke } else { OtherDevices::Keep }
    }

    /// Notes what became of the devices that the person had before.
    pub(super) fn tell(&self, before: usize, addresses: &str, ctx: &mut Ctx) {
        let revoked = if self.revoke_others { before } else { 0 };
        let revoked = plural(revoked as u64, "device");
        ctx.note(&format!("this device is registered at {addresses}; {revoked} revoked"));
    }
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let invitation = join::given(args.at.invitation.as_deref(), ctx)?;
    let hub = match (&args.at.hub, &invitation) {
        (Some(hub), _) => hub.clone(),
        (None, Some(invitation)) => HubAddress::of(invitation)?,
        (None, None) => return Err(Failure::usage("no hub is named")),
    };
    let root = read_root(args.exported.as_deref(), ctx)?;
    let to = Destination {
        peer: hub.peer,
        hosts: &hub.hosts,
        timeouts: args.timeouts,
        limits: hub_limits(),
    };
    let unfinished = Unfinished::find(&root, &args.others, ctx)?;
    let creation = match &unfinished {
        Some(_) => args.creation.forced(),
        None => args.creation.clone(),
    };
    creation.check(ctx)?;
    let (device, before, made) = match unfinished {
        Some(it) if it.follows(&ask(&root, &it.key(), &to, ctx)?.record, &args.others) => {
            let made = it.outcome(&root, ctx)?;
            (it.device, it.record.devices().count(), made)
        }
        _ => {
            let keys = Keys::make(&root, &creation, ctx)?;
            let at_hub = ask(&root, &TransportKey::new(&keys.device), &to, ctx)?;
            let others = args.others.choice();
            let made = keys.install(&root, &creation, Some(&at_hub.record), others, ctx)?;
            (keys.device, at_hub.record.devices().count(), made)
        }
    };
    let key = TransportKey::new(&device);
    let engine = open(&ctx.home()?, &device, Duration::ZERO)?;
    work_and_close(engine, ctx, |engine, ctx| {
        register_here(engine, &key, &to, invitation.as_ref(), ctx).map_err(|failure| {
            failure.hint(
                "the hub may have registered this device: run the same endseal recover again, and \
                 look at endseal devices list then",
            )
        })
    })?;
    args.others.tell(before, &hub.addresses(), ctx);
    ctx.note(
        "note: contacts and history are not here: ask each contact for the identity, then endseal \
         contacts add; a group comes back when one of its members visits the hub and its owner is \
         a contact",
    );
    Ok(made)
}

/// Registers the device of a store at the hub, with the newest person record of the state
/// directory.
pub(super) fn register_here(
    engine: &mut Engine,
    key: &TransportKey,
    to: &Destination<'_>,
    invitation: Option<&Invitation>,
    ctx: &mut Ctx,
) -> Result<(), Failure> {
    let record = ctx.home()?.person()?;
    let addresses = to.hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    network::run(ctx.global.json, async |mut interrupt| {
        let registered = interrupt.with_connection(key, to, async |connection| {
            let hub = HubClient::new(connection, to.timeouts.idle);
            let token = invitation.map(Invitation::token);
            Ok(register(&hub, engine, &addresses, token, &record).await?)
        });
        registered.await
    })
}

/// A device that an interrupted recovery has left: it has all its files, and was never registered,
/// or does not know that it was.
pub(super) struct Unfinished {
    pub(super) device: Identity,
    pub(super) record: PersonRecord,
    number: DeviceId,
}

impl Unfinished {
    /// Finds the device, if the state directory is of this root. `None` also if the other devices
    /// were to have another future.
    pub(super) fn find(
        root: &Identity,
        others: &Others,
        ctx: &mut Ctx,
    ) -> Result<Option<Self>, Failure> {
        let Ok(home) = Home::open(&ctx.home_path()?) else { return Ok(None) };
        let is_own = home.identity().is_ok_and(|it| it.public() == root.public());
        let Some(record) = home.person().ok().filter(|_| is_own && home.device().is_ok()) else {
            return Ok(None);
        };
        let device = passphrase::unlock_device(ctx, &home)?;
        let Ok(mut engine) = home.sessions(&device, Duration::ZERO) else { return Ok(None) };
        let number = engine.address().device;
        let is_alone = record.devices().count() == 1;
        let fits = is_unfinished(&mut engine)?
            && record.device(number.into()) == Some(device.public().ed25519())
            && (is_alone || !others.revoke_others);
        Ok(fits.then_some(Self { device, record, number }))
    }

    pub(super) fn key(&self) -> TransportKey {
        TransportKey::new(&self.device)
    }

    /// Returns true if the record of the hub is that of this device, or one that it follows with
    /// the same choice.
    pub(super) fn follows(&self, at_hub: &PersonRecord, others: &Others) -> bool {
        let has = |(number, key)| self.record.device(number) == Some(key);
        let is_chosen = others.revoke_others || at_hub.devices().all(has);
        self.record == *at_hub || is_chosen && self.record.supersedes(at_hub).is_ok()
    }

    /// The result of the command that made the device.
    pub(super) fn outcome(&self, root: &Identity, ctx: &Ctx) -> Result<Outcome, Failure> {
        Ok(init::identity_made(root, &self.device, self.number, &ctx.home()?, None))
    }
}

/// Reads the root from words, or from an exported secret.
pub(super) fn read_root(secret: Option<&Path>, ctx: &mut Ctx) -> Result<Identity, Failure> {
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

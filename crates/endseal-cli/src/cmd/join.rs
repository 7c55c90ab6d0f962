//! `endseal join`: registers this device at a hub.

use std::path::{Path, PathBuf};

use endseal_crypto::identity::PublicIdentity;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::{IdentityText, Invitation, Inviter};
use endseal_node::messages::{
    HubClient, JoinError, hub_limits, is_unfinished, membership, register,
};
use endseal_node::{Home, read_bounded};
use endseal_transport::TransportKey;

use super::init::{self, Creation};
use super::session::StoreArgs;
use crate::ctx::{Ctx, Outcome};
use crate::exposed;
use crate::failure::{Failure, Kind};
use crate::json;
use crate::network::{self, Destination, Timeouts};
use crate::output::Input;
use crate::peer_address::{HostAddress, HubAddress};
use crate::sessions::{open, unlock, work_and_close};

/// Limit on the length of an invitation in bytes.
const MAX_LEN: usize = 4_096;

/// Register this device at a hub, with an invitation of endseal hub invite
///
/// The hub keeps messages for this device while it is away. It learns which devices a person has,
/// who writes to whom or to which group and when, and never what. An invitation is a secret until
/// it was used: it is read from a file or standard input. If there is no identity yet, one is made,
/// as by endseal init. If the invitation names who invites, that person becomes a contact. A person
/// whom the hub knows comes back with a new device by endseal recover.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// File with the invitation [default: standard input]
    file: Option<PathBuf>,
    /// The hub at another address, without an invitation: PEERID@HOST:PORT
    ///
    /// For a hub that moved while this device did not visit it. The address replaces those that are
    /// known, once the hub has answered there.
    #[arg(long, conflicts_with = "file", conflicts_with = "no_passphrase")]
    hub: Option<HubAddress>,
    /// If there is no identity yet: make one without a passphrase
    #[arg(long)]
    #[arg(conflicts_with_all = ["passphrase_file", "passphrase_fd", "passphrase_command"])]
    no_passphrase: bool,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    timeouts: Timeouts,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    if let Some(file) = &args.file {
        exposed::warn(file, ctx);
    }
    let invitation = match &args.hub {
        Some(_) => None,
        None => Some(read(args.file.as_deref(), ctx)?),
    };
    let at = match (&args.hub, &invitation) {
        (Some(hub), _) => hub.clone(),
        (None, Some(invitation)) => HubAddress::of(invitation)?,
        (None, None) => return Err(Failure::usage("no hub is named")),
    };
    if invitation.is_some() && init::is_new(ctx)? {
        init::store_new(&Creation::new(args.no_passphrase), ctx)?;
    }
    let (home, device) = unlock(ctx)?;
    let person = home.person()?;
    let key = TransportKey::new(&device);
    let engine = open(&home, &device, args.store.wait)?;
    drop(device);
    let as_json = ctx.global.json;
    work_and_close(engine, ctx, |engine, _| {
        if is_unfinished(engine)? {
            return Err(Failure::new(Kind::Configuration, "a restoration was interrupted here")
                .hint("run the same endseal restore or endseal recover again"));
        }
        if membership(engine)?.is_none() && invitation.is_none() {
            return Err(Failure::usage("this device is registered at no hub").hint(
                "join with an invitation, or come back to a hub that knows you: endseal recover",
            ));
        }
        network::run(as_json, async |mut interrupt| {
            let timeouts = args.timeouts;
            let (peer, hosts) = (at.peer, at.hosts.as_slice());
            let to = Destination { peer, hosts, timeouts, limits: hub_limits() };
            let joined = interrupt.with_connection(&key, &to, async |connection| {
                let hub = HubClient::new(connection, timeouts.idle);
                let token = invitation.as_ref().map(Invitation::token);
                Ok(register(&hub, engine, &at.addresses(), token, &person).await?)
            });
            joined.await
        })
    })?;
    if let Some(inviter) = invitation.as_ref().and_then(Invitation::inviter) {
        add_contact(inviter, &home, ctx)?;
    }
    let hub = at.hosts.first().map(ToString::to_string).unwrap_or_default();
    let json = json::object([("hub", hub.as_str().into())]);
    Ok(Outcome::done(format!("this device is registered at {hub}"), json))
}

/// Adds the person who invites to the contacts, unless the name or the identity is there.
fn add_contact(inviter: &Inviter, home: &Home, ctx: &mut Ctx) -> Result<(), Failure> {
    let Inviter { name, identity } = inviter;
    let lock = home.lock()?;
    let mut contacts = home.contacts()?;
    if contacts.name_of(identity).is_some() {
        return Ok(());
    }
    let public = PublicIdentity::short(*identity);
    let text = IdentityText::from(public.clone());
    if contacts.add(name.clone(), public).is_err() {
        ctx.note(&format!(
            "note: you have another contact {name}; add who invited you: endseal contacts add NAME \
             {text}"
        ));
        return Ok(());
    }
    home.store_contacts(&contacts, &lock)?;
    ctx.note(&format!("{name} invited you, and is a contact now: {text}"));
    Ok(())
}

/// Reads the invitation of an option, whose file others may not be able to read.
pub(super) fn given(file: Option<&Path>, ctx: &mut Ctx) -> Result<Option<Invitation>, Failure> {
    let Some(file) = file else { return Ok(None) };
    exposed::warn(file, ctx);
    read(Some(file), ctx).map(Some)
}

fn read(file: Option<&Path>, ctx: &mut Ctx) -> Result<Invitation, Failure> {
    let name = file.unwrap_or(Path::new("standard input")).to_owned();
    let input = Input::open(file, ctx)?;
    let content: Zeroizing<Vec<u8>> = read_bounded(input.reader, &name, MAX_LEN)?;
    let text = core::str::from_utf8(&content).unwrap_or_default().trim();
    Invitation::parse(text).map_err(|error| {
        Failure::usage(format!("'{}' holds no invitation", name.display()))
            .because(&error)
            .hint("ask the hub's owner for what endseal hub invite prints")
    })
}

/// Parses the addresses of a hub.
pub(crate) fn hosts<'a>(
    addresses: impl Iterator<Item = &'a str>,
) -> Result<Vec<HostAddress>, Failure> {
    let parsed = addresses.map(str::parse).collect::<Result<Vec<_>, String>>();
    parsed.map_err(|error| Failure::usage("the invitation names no address").because_text(error))
}

impl From<JoinError> for Failure {
    fn from(error: JoinError) -> Self {
        match error {
            JoinError::Hub(error) => error.into(),
            JoinError::Engine(error) => error.into(),
            _ => Self::usage(error.to_string()).hint("endseal status shows which"),
        }
    }
}

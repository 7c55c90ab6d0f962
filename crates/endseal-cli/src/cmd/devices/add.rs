//! `endseal devices add`

use core::num::NonZeroU32;
use core::time::Duration;
use std::io::Seek as _;
use std::path::{Path, PathBuf};

use endseal_crypto::identity::Identity;
use endseal_keyring::device::{Certificate, DeviceKeys};
use endseal_keyring::person::PersonChanges;
use endseal_keyring::{Invitation, LinkRequest, PersonRecord};
use endseal_node::messages::{
    DeviceName, HubClient, LinkError, NodeFiles, PersonAtHub, hub_limits, membership, name_device,
    register_other, send_archive,
};
use endseal_node::sessions::random_device;
use endseal_node::{ArchiveKeys, Home, LinkGrant, read_bounded, write_archive};
use endseal_transport::TransportKey;

use super::super::join;
use super::super::recover::ask;
use super::hub_of;
use super::link_file::LinkFile;
use super::renew::visit;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::network::{self, Destination, Timeouts};
use crate::output::Input;
use crate::passphrase;
use crate::printable::plural;
use crate::sessions::{open, work_and_close};
use crate::terminal::Terminal;
use crate::{device_name, json};

/// Limit on the length of a link text in bytes, with the line breaks of a mail.
const MAX_LEN: usize = 8_192;

/// Add a device that shows a link text (endseal devices link)
///
/// Your identity signs the device, the hub registers it, and contacts, groups and history go there,
/// sealed to it. Add only a device that is in your hands, and compare the number that both show:
/// it gets your identity, too. Texts that you write on one device are not shown on the other.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// File with the link text, or - for standard input
    link: PathBuf,
    /// The numbers were compared: do not ask
    #[arg(short, long)]
    yes: bool,
    /// Number of the new device [default: random]
    #[arg(long, value_name = "N")]
    device: Option<NonZeroU32>,
    /// Name of the new device, which this one and the new one show
    #[arg(long, value_parser = device_name::parse)]
    name: Option<DeviceName>,
    /// A new invitation, if the hub asks known people for one
    #[arg(long, value_name = "FILE")]
    invitation: Option<PathBuf>,
}

pub(super) fn run(
    args: &Args,
    wait: Duration,
    timeouts: Timeouts,
    ctx: &mut Ctx,
) -> Result<Outcome, Failure> {
    let invitation = join::given(args.invitation.as_deref(), ctx)?;
    let request = read(&args.link, ctx)?;
    let number = request.check_number();
    if !args.yes {
        confirm(&number)?;
    }
    let home = ctx.home()?;
    let own = passphrase::unlock_device(ctx, &home)?;
    let engine = open(&home, &own, wait)?;
    let root = passphrase::unlock(ctx, &home)?;
    let key = TransportKey::new(&own);
    let added = work_and_close(engine, ctx, |engine, ctx| {
        let at = hub_of(membership(engine)?)?;
        let to = Destination { peer: at.peer, hosts: &at.hosts, timeouts, limits: hub_limits() };
        // The history goes with what waits at the hub, and not from a directory that went back.
        visit(engine, &key, &at, &NodeFiles::new(&home), timeouts, ctx)??;
        let at_hub = ask(&root, &key, &to, ctx)?;
        let lock = home.lock()?;
        let (record, certificate) = sign(&request, args.device, &root, &at_hub, &home, ctx)?;
        let device = certificate.keys().device.number();
        if let Some(name) = &args.name {
            name_device(engine, device, name)?;
        }
        let mut link_file = LinkFile::create(&home)?;
        let sent = network::run(ctx.global.json, async |mut interrupt| {
            let sent = interrupt.with_connection(&key, &to, async |connection| {
                let hub = HubClient::new(connection, timeouts.idle);
                let token = invitation.as_ref().map(Invitation::token);
                register_other(&hub, &certificate, token, &record).await?;
                // Only what the hub has is in force.
                home.store_person(&record, &lock)?;
                let link = LinkGrant {
                    to: &request.device,
                    secret: &request.secret,
                    certificate: &certificate,
                    root: &root,
                };
                let keys = ArchiveKeys { device: &own, person: &record, link: Some(link) };
                let file = &mut link_file.file;
                let texts = write_archive(&home, keys, engine, ctx.now, &mut *file)?;
                let len = file.stream_position().and_then(|len| file.rewind().map(|()| len));
                let len = len.map_err(|source| link_file.failed(source))?;
                send_archive(&hub, engine, request.peer_id, &link_file.file, len).await?;
                Ok(texts)
            });
            sent.await
        });
        let texts = sent.map_err(|failure| {
            failure.hint("run the same command again; endseal devices list shows what is added")
        })?;
        Ok((device, texts))
    })?;
    let (device, texts) = added;
    let json = json::object([
        ("device", device.into()),
        ("number", number.into()),
        ("texts", texts.into()),
    ]);
    let texts = plural(texts, "text");
    if args.name.is_none() {
        ctx.note(&format!("note: endseal devices rename {device} NAME names it on this device"));
    }
    Ok(Outcome::done(format!("device {device} is added, and gets {texts}"), json))
}

/// The next person record with the new device and its certificate; the present ones if the hub has
/// registered the device.
fn sign(
    request: &LinkRequest,
    number: Option<NonZeroU32>,
    root: &Identity,
    at_hub: &PersonAtHub,
    home: &Home,
    ctx: &Ctx,
) -> Result<(PersonRecord, Certificate), Failure> {
    let known = at_hub.devices.iter().find(|it| it.keys().peer_id == request.peer_id);
    if let Some(known) = known {
        return Ok((at_hub.record.clone(), known.clone()));
    }
    let number = match number {
        Some(number) => number.into(),
        None => random_device()?,
    };
    let keys = DeviceKeys {
        device: number,
        peer_id: request.peer_id,
        agreement: request.agreement,
        signing: request.signing,
        group: request.group,
    };
    let certificate = Certificate::issue(root.signing(), &keys, ctx.now);
    let record = home.next_person(root, Some(&at_hub.record), |_| {
        let mut changes = PersonChanges::new();
        changes.add(number.into(), &request.device);
        changes
    })?;
    let record = record.ok_or_else(|| Failure::usage("there is no person record"))?;
    Ok((record, certificate))
}

fn read(path: &Path, ctx: &mut Ctx) -> Result<LinkRequest, Failure> {
    let input = Input::open(Some(path), ctx)?;
    let content = read_bounded(input.reader, path, MAX_LEN)?;
    let text = str::from_utf8(&content).unwrap_or_default();
    LinkRequest::parse(text).map_err(|error| {
        Failure::usage("this is no link text")
            .because(&error)
            .hint("copy the whole line that endseal devices link prints")
    })
}

/// Asks whether both devices show the same number.
fn confirm(number: &str) -> Result<(), Failure> {
    let question = format!("Does the new device show {number}? [y/N] ");
    match Terminal::open().and_then(|terminal| terminal.confirm(&question)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::new(Kind::Refused, "the numbers were not confirmed")
            .hint("nothing was added; another number is another device")),
        Err(error) => {
            Err(Failure::usage(format!("compare the number of the new device with {number}"))
                .because(&error)
                .hint("if they are the same, give --yes"))
        }
    }
}

impl From<LinkError> for Failure {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Hub(error) => error.into(),
            LinkError::Engine(error) => error.into(),
            LinkError::Full => Self::of(Kind::Environment, &error).hint(
                "use a backup in the place of the link: endseal backup FILE here, and endseal \
                 restore --keep-others FILE there",
            ),
            _ => Self::of(Kind::Environment, &error),
        }
    }
}

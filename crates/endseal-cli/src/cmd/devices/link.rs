//! `endseal devices link`

use core::time::Duration;
use std::fs::File;
use std::io::Seek as _;

use endseal_crypto::identity::Identity;
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::IdentityText;
use endseal_node::messages::{
    DeviceName, HubClient, device_name as known_name, finish_link, hub_limits, note_link,
    receive_archive,
};
use endseal_node::{Archive, Existing, FileError, Home, Linked};
use endseal_transport::TransportKey;
use tokio::time::{Instant, sleep};

use super::super::init::{make_device, seal};
use super::super::recover::register_here;
use super::link_file::LinkFile;
use crate::ctx::{Ctx, Outcome};
use crate::duration::{self, DAY, SECOND};
use crate::failure::{Failure, Kind};
use crate::network::{self, Destination, Interrupt, Timeouts};
use crate::passphrase;
use crate::peer_address::HubAddress;
use crate::printable::plural;
use crate::sessions::work_and_close;
use crate::{device_name, json};

/// Time between two visits while no device has answered.
const PAUSE: Duration = Duration::from_secs(2);
/// Hint for a link that did not end.
const AGAIN: &str = "run the same command again: the link text stays the same";

/// Make this a further device of yours, with contacts, groups and history
///
/// Prints a link text and a number, and waits. On a device that you have, endseal devices add takes
/// the text: give it only there, and compare the numbers. The state directory must be new. The
/// words are not needed. If the command is interrupted, run it again: the text stays the same.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The hub, as endseal status prints it on the other device: PEERID@HOST:PORT
    hub: HubAddress,
    /// Use no passphrase: anyone who can read the identity file has the identity
    #[arg(long)]
    #[arg(conflicts_with_all = ["passphrase_file", "passphrase_fd", "passphrase_command"])]
    no_passphrase: bool,
    /// Protect the device's keys and store by a passphrase, too
    #[arg(long, conflicts_with = "no_passphrase")]
    protect_device: bool,
    /// Name of this device [default: that of devices add, or the host's name]
    #[arg(long, value_parser = device_name::parse)]
    name: Option<DeviceName>,
    /// Time to wait for the other device
    #[arg(long = "for", value_name = "TIME", default_value = "15m")]
    #[arg(value_parser = duration::between(SECOND, DAY))]
    limit: Duration,
}

pub(super) fn run(
    args: &Args,
    wait: Duration,
    timeouts: Timeouts,
    ctx: &mut Ctx,
) -> Result<Outcome, Failure> {
    let home = Home::create(&ctx.home_path()?)?;
    let identity = home.identity_path();
    if identity.symlink_metadata().is_ok() {
        return Err(Failure::from(FileError::Exists(identity))
            .hint("a further device needs a state directory of its own: --home DIR"));
    }
    let chosen = if args.no_passphrase { None } else { Some(passphrase::choose(ctx)?) };
    let (device, device_file) = match home.device() {
        Ok(file) => (passphrase::unlock_device(ctx, &home)?, file),
        Err(_) => make_device(args.protect_device, ctx)?,
    };
    let request = home.prepare_link(&device, &device_file, wait, &home.lock()?)?;
    let Some(text) = request.to_text() else {
        return Err(Failure::new(Kind::Configuration, "the device has no post-quantum key"));
    };
    let line = if ctx.global.json {
        let number = request.check_number();
        Zeroizing::new(json::line(&json::object([
            ("link", text.as_str().into()),
            ("number", number.into()),
        ])))
    } else {
        Zeroizing::new(format!("{}\n", &*text))
    };
    ctx.print(line.as_bytes())?;
    ctx.note(&format!(
        "on a device that you have: endseal devices add -, with the line above; both show {}",
        request.check_number()
    ));
    let mut link_file = LinkFile::create(&home)?;
    let key = TransportKey::new(&device);
    let to =
        Destination { peer: args.hub.peer, hosts: &args.hub.hosts, timeouts, limits: hub_limits() };
    let from = network::run(ctx.global.json, async |mut interrupt| {
        receive(&mut interrupt, &key, &to, args.limit, &mut link_file.file).await
    })?;
    let mut file = &link_file.file;
    file.rewind().map_err(|source| link_file.failed(source))?;
    let mut archive = Archive::open_link(&device, &request.secret, file)?;
    let keys = archive.linked();
    let content = archive.check()?;
    let Some(Linked { root, certificate, .. }) = keys else {
        return Err(Failure::new(Kind::Refused, "the archive has no keys"));
    };
    file.rewind().map_err(|source| link_file.failed(source))?;
    let root_file = seal(&root, chosen.as_ref())?;
    let opened = home.certified_sessions(&device, &certificate, wait);
    let mut engine = opened.map_err(|error| Failure::from(error).hint(AGAIN))?;
    let lock = home.lock()?;
    Archive::open_link(&device, &request.secret, file)?.restore(&home, &mut engine, &lock)?;
    work_and_close(engine, ctx, |engine, ctx| {
        note_link(engine, from)?;
        let number = engine.address().device.number();
        if args.name.is_some() || known_name(engine, number)?.is_none() {
            device_name::name_this(engine, args.name.as_ref())?;
        }
        // Until it does so itself, the hub does not count it as registered.
        register_here(engine, &key, &to, None, ctx)?;
        // Last: where the identity is, everything is.
        home.store_identity(&root_file, Existing::Keep, &lock)?;
        Ok(finish_link(engine)?)
    })?;
    let number = certificate.keys().device.number();
    let (texts, contacts) = (content.texts, content.contacts as u64);
    ctx.note(&format!(
        "this is device {number} of {}, with {} and {}; endseal sync gets what waits",
        short(&root),
        plural(texts, "text"),
        plural(contacts, "contact")
    ));
    let json = json::object([
        ("identity", short(&root).into()),
        ("device", number.into()),
        ("texts", texts.into()),
        ("contacts", contacts.into()),
    ]);
    Ok(Outcome::new("", json))
}

fn short(root: &Identity) -> String {
    IdentityText::from(root.public().clone()).short().to_string()
}

/// Visits the hub until another device has put the archive there. Returns that device.
async fn receive(
    interrupt: &mut Interrupt,
    key: &TransportKey,
    to: &Destination<'_>,
    limit: Duration,
    file: &mut File,
) -> Result<PeerId, Failure> {
    let end = Instant::now() + limit;
    loop {
        let received = interrupt.with_connection(key, to, async |connection| {
            let hub = HubClient::new(connection, to.timeouts.idle);
            tokio::select! {
                received = receive_archive(&hub, file) => Ok(Some(received)),
                () = tokio::time::sleep_until(end) => Ok(None),
            }
        });
        match received.await? {
            Some(Ok(from)) => return Ok(from),
            Some(Err(error)) if !error.is_unregistered() => return Err(error.into()),
            _ => {}
        }
        if Instant::now() >= end {
            return Err(
                Failure::new(Kind::Environment, "no other device has linked this one").hint(AGAIN)
            );
        }
        tokio::select! {
            () = sleep(PAUSE) => {}
            () = interrupt.wait() => return Err(network::interrupted()),
        }
    }
}

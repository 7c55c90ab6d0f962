//! `endseal restore`: makes a device of a backup.

use core::time::Duration;
use std::fs::File;
use std::io::Seek as _;
use std::path::PathBuf;

use endseal_node::messages::{finish, hub_limits, note_hub};
use endseal_node::{Archive, FileError, ReadArchiveError, WriteArchiveError};
use endseal_transport::TransportKey;

use super::init::{Creation, Keys};
use super::join;
use super::recover::{Others, Unfinished, ask, read_root, register_here};
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::network::{Destination, Timeouts};
use crate::peer_address::HubAddress;
use crate::printable::plural;
use crate::sessions::{open, work_and_close};
use crate::time::rfc3339;

/// Make a device of a backup, with the 24 words, and come back to the hub
///
/// Makes an identity of the words (standard input, or typed) with a new device, puts contacts,
/// groups and conversations of the backup there, and registers the device at the hub that the
/// backup names. Texts that were not confirmed when the backup was written are sent again with the
/// next endseal sync. Texts that arrived later do not come back. The whole backup is verified
/// before anything is made.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The backup, of endseal backup
    file: PathBuf,
    #[command(flatten)]
    others: Others,
    /// Do not connect to the hub: endseal devices renew registers this device later
    ///
    /// Other devices are not revoked: do that afterwards, with endseal devices revoke.
    #[arg(long, conflicts_with_all = ["invitation", "revoke_others"])]
    offline: bool,
    /// The hub of the backup at another address, if it has moved: PEERID@HOST:PORT
    #[arg(long, conflicts_with = "offline")]
    hub: Option<HubAddress>,
    /// A new invitation, if the hub asks known people for one
    #[arg(long, value_name = "FILE")]
    invitation: Option<PathBuf>,
    /// Take the identity from an exported file (endseal id export) instead of words
    #[arg(long, value_name = "FILE")]
    exported: Option<PathBuf>,
    #[command(flatten)]
    creation: Creation,
    #[command(flatten)]
    timeouts: Timeouts,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let invitation = join::given(args.invitation.as_deref(), ctx)?;
    let failed = |source| FileError::io("read", &args.file, source);
    let mut file = File::open(&args.file).map_err(failed)?;
    let root = read_root(args.exported.as_deref(), ctx)?;
    let content = Archive::open(&root, &file)?.check()?;
    let unfinished = Unfinished::find(&root, &args.others, ctx)?;
    let creation = match &unfinished {
        Some(_) => args.creation.forced(),
        None => args.creation.clone(),
    };
    creation.check(ctx)?;
    let hub = content.hub.as_ref();
    let hub = hub.map(|it| HubAddress::new(it.hub, &it.addresses)).transpose()?;
    let hub = match (&args.hub, hub) {
        (Some(given), Some(known)) if given.peer == known.peer => Some(given.clone()),
        (Some(_), _) => {
            return Err(Failure::usage("the backup is not from this hub").hint(
                "--hub takes the hub of the backup at its new address; without it, the backup says \
                 where the hub was",
            ));
        }
        (None, hub) => hub,
    };
    let to = hub.as_ref().filter(|_| !args.offline).map(|hub| Destination {
        peer: hub.peer,
        hosts: &hub.hosts,
        timeouts: args.timeouts,
        limits: hub_limits(),
    });
    let record =
        |key: &TransportKey, ctx: &Ctx| match &to {
            Some(to) => match ask(&root, key, to, ctx) {
                // A hub that was put back has an older record than the backup.
                Ok(found) if content.person.supersedes(&found.record).is_ok() => {
                    Ok(content.person.clone())
                }
                Ok(found) => Ok(found.record),
                Err(failure) => Err(failure
                    .hint("nothing was made; --offline --keep-others restores without the hub")),
            },
            None => Ok(content.person.clone()),
        };
    let (device, before, made) = match unfinished {
        Some(it) if it.follows(&record(&it.key(), ctx)?, &args.others) => {
            let made = it.outcome(&root, ctx)?;
            (it.device, it.record.devices().count(), made)
        }
        _ => {
            let keys = Keys::make(&root, &creation, ctx)?;
            let newest = record(&TransportKey::new(&keys.device), ctx)?;
            let made = keys.install(&root, &creation, Some(&newest), args.others.choice(), ctx)?;
            let home = ctx.home()?;
            for aside in home.set_aside_books(&home.lock()?)? {
                ctx.note(&format!("the old one is kept as '{}'", aside.display()));
            }
            (keys.device, newest.devices().count(), made)
        }
    };
    let key = TransportKey::new(&device);
    let home = ctx.home()?;
    let engine = open(&home, &device, Duration::ZERO)?;
    work_and_close(engine, ctx, |engine, ctx| {
        file.rewind().map_err(failed)?;
        Archive::open(&root, &file)?.restore(&home, engine, &home.lock()?)?;
        match (&to, &content.hub) {
            (Some(to), _) => {
                register_here(engine, &key, to, invitation.as_ref(), ctx).map_err(|failure| {
                    failure.hint(
                        "the backup is restored, and this device is not registered yet: run the \
                         same endseal restore again",
                    )
                })
            }
            (None, Some(hub)) => Ok(note_hub(engine, hub)?),
            (None, None) => Ok(finish(engine)?),
        }
    })?;
    let contacts = plural(content.contacts as u64, "contact");
    let texts = plural(content.texts, "text");
    ctx.note(&format!("{texts} and {contacts} of {} are here", rfc3339(content.time)));
    match (&to, &hub) {
        (Some(_), Some(hub)) => args.others.tell(before, &hub.addresses(), ctx),
        (None, Some(_)) => ctx.note(
            "this device is not registered at the hub: endseal devices renew does that, and \
             endseal sync sends what waits then",
        ),
        _ => {}
    }
    Ok(made)
}

impl From<WriteArchiveError> for Failure {
    fn from(error: WriteArchiveError) -> Self {
        match error {
            WriteArchiveError::AddressBook(error) => error.into(),
            WriteArchiveError::Engine(error) => error.into(),
            WriteArchiveError::Group(error) => error.into(),
            WriteArchiveError::NotListed => Self::of(Kind::Configuration, &error)
                .hint("endseal sync says what became of this device"),
            WriteArchiveError::Output(error) => crate::failure::standard(&error),
            _ => Self::of(Kind::Environment, &error),
        }
    }
}

impl From<ReadArchiveError> for Failure {
    fn from(error: ReadArchiveError) -> Self {
        match error {
            ReadArchiveError::AddressBook(error) => error.into(),
            ReadArchiveError::Engine(error) => error.into(),
            ReadArchiveError::File(error) => error.into(),
            ReadArchiveError::Person(error) => error.into(),
            ReadArchiveError::Roster(error) => error.into(),
            ReadArchiveError::Input(_) => Self::of(Kind::Environment, &error),
            ReadArchiveError::Version(_) => {
                Self::of(Kind::Refused, &error).hint("install that version of endseal")
            }
            ReadArchiveError::Envelope(_) => Self::of(Kind::Refused, &error)
                .hint("compare the words; a file that was changed or cut does not open"),
            _ => Self::of(Kind::Refused, &error),
        }
    }
}

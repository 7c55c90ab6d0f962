//! `endseal hub restore`: puts a copy of a hub's database back.

use std::fs;
use std::path::{Path, PathBuf};

use endseal_hub::{HubStore as _, SqliteStore, StorageError};
use endseal_node::FileError;

use super::backup::Part;
use super::place::{self, Folder, Place};
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json;

/// Put a copy of endseal hub backup in the place of the database
///
/// The hub must not run. The database before stays as hub.db.old-N. Prekeys and invitations of the
/// copy are dropped, as they may have been used since: nodes publish new prekeys with their next
/// visit, and nodes notice what the hub forgot and send it again. Devices that registered after the
/// copy need an invitation, and people who were removed after it are back: look at endseal hub
/// people.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// A file that endseal hub backup wrote; with PostgreSQL none, after pg_restore
    file: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let folder = args.place.open(ctx)?;
    if !folder.has_file() {
        return restored(&args.place, &folder, args.file.is_some(), ctx);
    }
    let Some(file) = &args.file else {
        return Err(Failure::usage("the file of endseal hub backup is missing"));
    };
    let database = folder.database()?;
    let _occupied = folder.occupy()?;
    let part = Part::create(&database)?;
    let copied = fs::copy(file, &part.0);
    copied.map_err(|source| FileError::io("read", file, source))?;
    let refuse = |cause: &str| {
        let text = format!("'{}' is no backup of a hub: {cause}", file.display());
        Failure::new(Kind::Refused, text)
    };
    let hub = folder.key()?.peer_id();
    let (prekeys, invitations, devices) = {
        let opened = SqliteStore::open_existing(&part.0);
        let mut copy = opened.map_err(|error| refuse(&error.to_string()))?;
        let faults = copy.check().map_err(|error| refuse(&error.to_string()))?;
        if let Some(fault) = faults.first() {
            return Err(refuse(fault));
        }
        // A copy of the file alone, without its log, lacks what was written last, or everything.
        let claimed = copy.transact(&mut |it| match it.meta("hub")?.is_some() {
            true => it.claim(&hub),
            false => Err(StorageError::Format("it is empty: use endseal hub backup, not cp")),
        });
        claimed.map_err(|error| refuse(&error.to_string()))?;
        let forgotten = copy.forget_single_use().map_err(|error| place::storage(&error))?;
        let devices = copy.devices();
        let devices = devices.map_err(|error| place::storage(&error))?.len();
        copy.into_one_file().map_err(|error| place::storage(&error))?;
        (forgotten.0, forgotten.1, devices)
    };
    set_aside(&database)?;
    part.replace(&database)?;
    Ok(outcome(devices, prekeys, invitations))
}

/// Renames a database to a free name, `hub.db.old-1` and so on, with its log.
fn set_aside(database: &Path) -> Result<(), Failure> {
    let named = |suffix: &str| {
        let mut name = database.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let free = (1..).map(|number| format!(".old-{number}")).find(|it| !named(it).exists());
    let aside = free.unwrap_or_default();
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let (from, to) = (named(suffix), named(&format!("{aside}{suffix}")));
        if let Err(source) = fs::rename(&from, &to)
            && source.kind() != std::io::ErrorKind::NotFound
        {
            return Err(FileError::io("rename", &from, source).into());
        }
    }
    Ok(())
}

/// Drops what must not be used after PostgreSQL's own tools have put the database back.
fn restored(place: &Place, folder: &Folder, has_file: bool, ctx: &Ctx) -> Result<Outcome, Failure> {
    if has_file {
        let text = "a database in PostgreSQL is put back by pg_restore";
        return Err(Failure::usage(text).hint("then run endseal hub restore without a file"));
    }
    let mut store = place.store_of(folder, ctx)?;
    let failed = |error| place::storage(&error);
    let (prekeys, invitations) = store.forget_single_use().map_err(failed)?;
    let devices = store.devices().map_err(failed)?.len();
    Ok(outcome(devices, prekeys, invitations))
}

fn outcome(devices: usize, prekeys: u64, invitations: u64) -> Outcome {
    let text = format!(
        "{devices} devices; {prekeys} prekeys and {invitations} invitations were dropped\n"
    );
    let json = json::object([
        ("devices", devices.into()),
        ("dropped_prekeys", prekeys.into()),
        ("dropped_invitations", invitations.into()),
    ]);
    Outcome::new(text, json)
}

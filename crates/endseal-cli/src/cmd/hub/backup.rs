//! `endseal hub backup`: copies the database of a hub.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use endseal_hub::SqliteStore;
use endseal_node::FileError;

use super::place::{self, Place};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;

/// Copy the database to a new file, also while the hub runs
///
/// The file appears when the copy is complete. The hub's key is not in it: it is in the hub's
/// folder. endseal hub restore puts the copy back.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// A file that is not there yet
    file: PathBuf,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let database = args.place.open(ctx)?.database()?;
    let store = SqliteStore::open_existing(&database).map_err(|error| place::storage(&error))?;
    if args.file.symlink_metadata().is_ok() {
        return Err(FileError::Exists(args.file.clone()).into());
    }
    let part = Part::create(&args.file)?;
    store.copy_to(&part.0).map_err(|error| place::storage(&error))?;
    part.publish(&args.file)?;
    let path = args.file.display().to_string();
    let json = json::object([("backup", path.clone().into())]);
    Ok(Outcome::done(format!("backup in '{path}'"), json))
}

/// The file that is written, beside its later name. It is removed unless it was published.
pub(super) struct Part(pub(super) PathBuf);

impl Part {
    pub(super) fn create(file: &Path) -> Result<Self, Failure> {
        let mut name = file.as_os_str().to_owned();
        name.push(".part");
        let path = PathBuf::from(name);
        // A command that was killed may have left one.
        let _gone = fs::remove_file(&path);
        let made = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&path);
        made.map_err(|source| FileError::io("create", &path, source))?;
        Ok(Self(path))
    }

    /// Gives the file its name, unless there is a file of this name.
    fn publish(self, file: &Path) -> Result<(), Failure> {
        self.sync()?;
        let named = fs::hard_link(&self.0, file);
        named.map_err(|source| FileError::io("create", file, source))?;
        sync_folder(file)
    }

    /// Gives the file its name in the place of another one.
    pub(super) fn replace(self, file: &Path) -> Result<(), Failure> {
        self.sync()?;
        let named = fs::rename(&self.0, file);
        named.map_err(|source| FileError::io("replace", file, source))?;
        sync_folder(file)
    }

    fn sync(&self) -> Result<(), Failure> {
        let synced = File::open(&self.0).and_then(|file| file.sync_all());
        synced.map_err(|source| FileError::io("write", &self.0, source).into())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _gone = fs::remove_file(&self.0);
    }
}

fn sync_folder(file: &Path) -> Result<(), Failure> {
    let folder = file.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|source| FileError::io("write", folder, source).into())
}

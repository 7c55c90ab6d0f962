//! The folder of a hub: its key and its database.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_hub::{SqliteStore, StorageError};
use endseal_keyring::IdentityFile;
use endseal_node::{Existing, FileError, Home, IdentityError};
use endseal_transport::TransportKey;

use crate::ctx::Ctx;
use crate::failure::{Failure, Kind};

const DATABASE: &str = "hub.db";

/// Option that names the folder of a hub.
#[derive(clap::Args, Debug)]
pub(super) struct Place {
    /// Folder of the hub's key and database [default: hub in the state directory]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Place {
    fn path(&self, ctx: &Ctx) -> Result<PathBuf, Failure> {
        match &self.dir {
            Some(dir) => Ok(dir.clone()),
            None => Ok(ctx.home_path()?.join("hub")),
        }
    }

    /// Opens the folder of an existing hub.
    pub(super) fn open(&self, ctx: &Ctx) -> Result<Folder, Failure> {
        let home = Home::open(&self.path(ctx)?).map_err(|error| {
            Failure::from(error).hint("endseal hub serve makes a hub where there is none")
        })?;
        Ok(Folder(home))
    }

    /// Opens the folder of a hub, and creates it with a new key if it does not exist.
    pub(super) fn make(&self, ctx: &Ctx) -> Result<Folder, Failure> {
        if self.dir.is_none() {
            // Otherwise the parents of the folder get the permissions of the umask.
            Home::create(&ctx.home_path()?)?;
        }
        let folder = Folder(Home::create(&self.path(ctx)?)?);
        let lock = folder.0.lock()?;
        if let Err(IdentityError::Missing(_)) = folder.0.identity() {
            let made = Identity::generate(&mut OsRandom);
            let identity = made.map_err(|error| Failure::of(Kind::Environment, &error))?;
            let file = IdentityFile::seal_without_passphrase(&identity, &mut OsRandom)?;
            // The database is made first: without it, a hub that has a key does not start.
            SqliteStore::open(&folder.database()).map_err(|error| storage(&error))?;
            folder.0.store_identity(&file, Existing::Keep, &lock)?;
        }
        Ok(folder)
    }
}

/// Folder of a hub, with its key and database.
pub(super) struct Folder(Home);

impl Folder {
    /// Reads the hub's key, from which its peer id is derived.
    pub(super) fn key(&self) -> Result<TransportKey, Failure> {
        let identity = self.0.identity()?.open_without_passphrase()?;
        let identity = identity.ok_or_else(|| {
            Failure::new(Kind::Configuration, "the hub's key is under a passphrase")
        })?;
        Ok(TransportKey::new(&identity))
    }

    /// Locks the folder, so that no second hub serves from it. The lock lasts until the file is
    /// dropped.
    pub(super) fn occupy(&self) -> Result<File, Failure> {
        let path = self.0.path().join("serving");
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = file.map_err(|source| FileError::io("open", &path, source))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                Err(Failure::new(Kind::Environment, "the hub of this folder runs already"))
            }
            Err(TryLockError::Error(source)) => Err(FileError::io("lock", &path, source).into()),
        }
    }

    pub(super) fn database(&self) -> PathBuf {
        self.0.path().join(DATABASE)
    }

    /// Opens the database, which must be there.
    pub(super) fn store(&self) -> Result<SqliteStore, Failure> {
        SqliteStore::open_existing(&self.database()).map_err(|error| storage(&error))
    }
}

/// Makes the failure for an error of the hub's database.
pub(super) fn storage(error: &StorageError) -> Failure {
    let kind = match error {
        StorageError::Format(_) => Kind::Configuration,
        _ => Kind::Environment,
    };
    let failure = Failure::new(kind, "the hub's database cannot be used").because(error);
    match error {
        StorageError::Format(_) => failure.hint("endseal hub restore puts a backup in its place"),
        _ => failure,
    }
}

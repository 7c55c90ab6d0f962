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

/// Where the hub is.
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

    /// The folder of a hub that was made.
    pub(super) fn open(&self, ctx: &Ctx) -> Result<Folder, Failure> {
        let home = Home::open(&self.path(ctx)?).map_err(|error| {
            Failure::from(error).hint("endseal hub serve makes a hub where there is none")
        })?;
        Ok(Folder(home))
    }

    /// The folder of a hub, which is made if there is none.
    pub(super) fn make(&self, ctx: &Ctx) -> Result<Folder, Failure> {
        let folder = Folder(Home::create(&self.path(ctx)?)?);
        let lock = folder.0.lock()?;
        if let Err(IdentityError::Missing(_)) = folder.0.identity() {
            let made = Identity::generate(&mut OsRandom);
            let identity = made.map_err(|error| Failure::of(Kind::Environment, &error))?;
            let file = IdentityFile::seal_without_passphrase(&identity, &mut OsRandom)?;
            folder.0.store_identity(&file, Existing::Keep, &lock)?;
        }
        Ok(folder)
    }
}

/// The folder of a hub.
pub(super) struct Folder(Home);

impl Folder {
    /// The key by which nodes know the hub.
    pub(super) fn key(&self) -> Result<TransportKey, Failure> {
        let identity = self.0.identity()?.open_without_passphrase()?;
        let identity = identity.ok_or_else(|| {
            Failure::new(Kind::Configuration, "the hub's key is under a passphrase")
        })?;
        Ok(TransportKey::new(&identity))
    }

    /// Keeps other hubs out of the folder while it lives.
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

    pub(super) fn store(&self) -> Result<SqliteStore, Failure> {
        SqliteStore::open(&self.0.path().join(DATABASE)).map_err(|error| storage(&error))
    }
}

/// A failure of the hub's database.
pub(super) fn storage(error: &StorageError) -> Failure {
    let kind = match error {
        StorageError::Format(_) => Kind::Configuration,
        _ => Kind::Environment,
    };
    Failure::new(kind, "the hub's database cannot be used").because(error)
}

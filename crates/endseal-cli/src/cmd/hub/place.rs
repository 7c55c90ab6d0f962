//! The folder of a hub, with its key, and its database.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use endseal_crypto::identity::Identity;
use endseal_crypto::mldsa65::SigningKey;
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::OsRandom;
use endseal_crypto::secret::Zeroizing;
use endseal_hub::{HubStore, PostgresStore, SqliteStore, StorageError};
use endseal_keyring::IdentityFile;
use endseal_node::{Existing, FileError, Home, IdentityError};
use endseal_service::Trust;
use endseal_transport::TransportKey;

use crate::ctx::Ctx;
use crate::failure::{Failure, Kind};

const DATABASE: &str = "hub.db";
/// Environment variable with the address of a PostgreSQL database.
const VARIABLE: &str = "ENDSEAL_HUB_DATABASE";
/// Environment variable with its password, as for PostgreSQL's own programs.
const PASSWORD: &str = "PGPASSWORD";

/// Options that name the folder of a hub and its database.
#[derive(clap::Args, Debug)]
pub(super) struct Place {
    /// Folder of the hub's key and database [default: hub in the state directory]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Database, postgres://USER@HOST/NAME [default: a file in the folder]
    ///
    /// Several hubs with the same key can serve from it. The environment variable
    /// ENDSEAL_HUB_DATABASE does the same, and PGPASSWORD has the password. TLS is required except
    /// on this machine.
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    #[command(flatten)]
    server: Server,
}

/// Options for a database on a server.
#[derive(clap::Args, Debug)]
pub(super) struct Server {
    /// PEM file with the authorities that vouch for the server, beside the public ones
    #[arg(long, value_name = "FILE")]
    database_ca: Option<PathBuf>,
}

impl Server {
    /// Opens the database at an address that the user has given.
    pub(super) fn open(&self, url: &str, ctx: &Ctx) -> Result<Box<dyn HubStore>, Failure> {
        let mut trust = Trust::public();
        if let Some(path) = &self.database_ca {
            let pem = fs::read(path).map_err(|source| FileError::io("read", path, source))?;
            trust = trust.with_authorities(&pem).map_err(|error| {
                let text = format!("'{}' cannot be used", path.display());
                Failure::new(Kind::Configuration, text).because(&error)
            })?;
        }
        let password = variable(PASSWORD, ctx)?;
        let password = password.as_ref().map(|it| it.as_str());
        let opened = PostgresStore::open(url, password, trust);
        Ok(Box::new(opened.map_err(|error| on_server(&error))?))
    }
}

/// Refuses an address with a password in an argument.
pub(super) fn check_argument(url: &str) -> Result<(), Failure> {
    if PostgresStore::has_password(url) {
        let text = "other users of the machine can read a password in an argument";
        return Err(Failure::usage(text).hint("put the password into the variable PGPASSWORD"));
    }
    Ok(())
}

/// Returns a variable of the environment. `None` if it is empty or not set.
fn variable(name: &'static str, ctx: &Ctx) -> Result<Option<Zeroizing<String>>, Failure> {
    let value = (ctx.environment)(name).filter(|it| !it.is_empty());
    let text = value.map(|it| it.into_string().map(Zeroizing::new));
    text.transpose().map_err(|_| Failure::usage(format!("{name} is not valid UTF-8")))
}

/// Locks the folder of a database file, as the hub does that serves from it. If the file is a
/// symbolic link, the folder of the file to which it leads is locked, too: a hub can serve from
/// either. The locks last until the files are dropped.
pub(super) fn occupy_beside(database: &Path) -> Result<Vec<File>, Failure> {
    let folder = |path: &Path| match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    // A file that is not there is reported when it is opened.
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut folders = vec![real(&folder(database)), folder(&real(database))];
    folders.dedup();
    folders.iter().map(|folder| occupy(folder)).collect()
}

/// Locks a folder, so that no second hub serves from it. The lock lasts until the file is dropped.
fn occupy(folder: &Path) -> Result<File, Failure> {
    let path = folder.join("serving");
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

impl Place {
    /// Returns the address of the database. `None` for a file in the folder.
    fn url(&self, ctx: &Ctx) -> Result<Option<Zeroizing<String>>, Failure> {
        match &self.database {
            Some(url) => {
                check_argument(url)?;
                Ok(Some(Zeroizing::new(url.clone())))
            }
            None => variable(VARIABLE, ctx),
        }
    }

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
        Ok(Folder { home, url: self.url(ctx)? })
    }

    /// Opens the folder of a hub, and creates it with a new key if it does not exist.
    pub(super) fn make(&self, ctx: &Ctx) -> Result<Folder, Failure> {
        if self.dir.is_none() {
            // Otherwise the parents of the folder get the permissions of the umask.
            Home::create(&ctx.home_path()?)?;
        }
        let url = self.url(ctx)?;
        let folder = Folder { home: Home::create(&self.path(ctx)?)?, url };
        let lock = folder.home.lock()?;
        if let Err(IdentityError::Missing(_)) = folder.home.identity() {
            let made = Identity::generate(&mut OsRandom);
            let identity = made.map_err(|error| Failure::of(Kind::Environment, &error))?;
            let file = IdentityFile::seal_without_passphrase(&identity, &mut OsRandom)?;
            // The database is made first: without it, a hub that has a key does not start.
            if folder.url.is_none() {
                SqliteStore::open(&folder.file()).map_err(|error| storage(&error))?;
            }
            folder.home.store_identity(&file, Existing::Keep, &lock)?;
        }
        Ok(folder)
    }
}

/// Folder of a hub, with its key, and the place of its database.
pub(super) struct Folder {
    home: Home,
    /// Address of the database. `None` for a file in the folder.
    url: Option<Zeroizing<String>>,
}

impl Folder {
    /// Reads the hub's key, from which its peer id is derived.
    pub(super) fn key(&self) -> Result<TransportKey, Failure> {
        Ok(TransportKey::new(&self.identity()?))
    }

    /// Reads the hub's key in the form that signs address notes, and its peer id.
    pub(super) fn signing_key(&self) -> Result<(SigningKey, PeerId), Failure> {
        let key = self.identity()?.transport_key();
        let hub = PeerId::of_spki(&key.public_key().to_spki());
        Ok((key, hub))
    }

    fn identity(&self) -> Result<Identity, Failure> {
        let identity = self.home.identity()?.open_without_passphrase()?;
        identity
            .ok_or_else(|| Failure::new(Kind::Configuration, "the hub's key is under a passphrase"))
    }

    /// Locks the folder, so that no second hub serves from it. The locks last until the files are
    /// dropped.
    pub(super) fn occupy(&self) -> Result<Vec<File>, Failure> {
        occupy_beside(&self.file())
    }

    /// Refuses a database on a server while the folder has one that was not moved there: its people
    /// would be unknown.
    fn check_moved(&self) -> Result<(), Failure> {
        let file = self.file();
        if !file.exists() {
            return Ok(());
        }
        let store = SqliteStore::open_existing(&file).map_err(|error| storage(&error))?;
        if store.is_retired() {
            return Ok(());
        }
        let text = format!("'{}' was not moved to the database on the server", file.display());
        Err(Failure::new(Kind::Refused, text)
            .hint("endseal hub migrate moves it; put it aside if the server has what is needed"))
    }

    /// Path of the database, if it is a file.
    fn file(&self) -> PathBuf {
        self.home.path().join(DATABASE)
    }

    /// Returns the path of the database, for what is done with files alone.
    pub(super) fn database(&self) -> Result<PathBuf, Failure> {
        match &self.url {
            None => Ok(self.file()),
            Some(_) => {
                let text = "the database is on a PostgreSQL server, which has its own tools";
                Err(Failure::new(Kind::Refused, text)
                    .hint("pg_dump and pg_restore: docs/operate.md"))
            }
        }
    }

    /// True if the database is a file.
    pub(super) fn has_file(&self) -> bool {
        self.url.is_none()
    }
}

impl Place {
    /// Opens the database of a hub, which must be there.
    pub(super) fn store(&self, ctx: &Ctx) -> Result<Box<dyn HubStore>, Failure> {
        self.store_of(&self.open(ctx)?, ctx)
    }

    /// Opens the database of the hub in a folder, unless it was copied to another one: what is
    /// changed there reaches no node.
    pub(super) fn store_of(
        &self,
        folder: &Folder,
        ctx: &Ctx,
    ) -> Result<Box<dyn HubStore>, Failure> {
        let store: Box<dyn HubStore> = match &folder.url {
            Some(url) => {
                let store = self.server.open(url, ctx)?;
                folder.check_moved()?;
                store
            }
            None => {
                let store = SqliteStore::open_existing(&folder.file());
                Box::new(store.map_err(|error| storage(&error))?)
            }
        };
        if store.is_retired() {
            return Err(storage(&StorageError::Retired));
        }
        Ok(store)
    }
}

/// Makes the failure for an error of a database on a server.
fn on_server(error: &StorageError) -> Failure {
    match error {
        StorageError::Format(_) => {
            let text = "the hub's database cannot be used";
            Failure::new(Kind::Configuration, text).because(error)
        }
        StorageError::Database(cause) if cause.to_string().contains("TLS") => storage(error)
            .hint("--database-ca names the authority of the server's certificate: docs/operate.md"),
        error => storage(error),
    }
}

/// Makes the failure for an error of the hub's database.
pub(super) fn storage(error: &StorageError) -> Failure {
    let kind = match error {
        StorageError::Format(_)
        | StorageError::Address(_)
        | StorageError::Pooled
        | StorageError::Retired
        | StorageError::OtherHub => Kind::Configuration,
        StorageError::Migration(_) => Kind::Refused,
        _ => Kind::Environment,
    };
    let failure = Failure::new(kind, "the hub's database cannot be used").because(error);
    match error {
        StorageError::Format(_) => failure.hint("endseal hub restore puts a backup in its place"),
        StorageError::Retired => failure.hint(
            "serve from the database to which endseal hub migrate has copied it: set \
                 ENDSEAL_HUB_DATABASE, or repeat the command if it failed",
        ),
        StorageError::OtherHub => {
            failure.hint("serve with the key of the first hub: a copy of its folder")
        }
        _ => failure,
    }
}

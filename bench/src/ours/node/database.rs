//! Databases of hubs: files, and databases of the PostgreSQL server whose URL is in
//! `ENDSEAL_TEST_POSTGRES` (`tests/node/postgres.py`).

use std::env;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use endseal_hub::{HubStore, PostgresStore, SqliteStore, migrate};
use endseal_service::Trust;
use tokio_postgres::NoTls;

use crate::subject::{Failure, unsupported};

/// Where the hub of a subject stores frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    /// A file.
    Sqlite,
    /// A database of a server.
    Postgres,
}

/// A database. One of a server is deleted when this is dropped.
pub(super) enum Database {
    Sqlite(PathBuf),
    Postgres(OnServer),
}

/// A database of a server.
pub(super) struct OnServer {
    server: String,
    name: String,
}

impl Engine {
    /// Makes an empty database: a file at `path`, or one of the server.
    pub(super) fn create(self, path: PathBuf) -> Result<Database, Failure> {
        match self {
            Self::Sqlite => Ok(Database::Sqlite(path)),
            Self::Postgres => Ok(Database::Postgres(OnServer::create("template0")?)),
        }
    }

    /// Checks that there is a server.
    pub(super) fn check(self) -> Result<(), Failure> {
        match self {
            Self::Postgres if server().is_none() => {
                Err(unsupported("ENDSEAL_TEST_POSTGRES names no server (tests/node/postgres.py)"))
            }
            _ => Ok(()),
        }
    }
}

impl Database {
    pub(super) fn open(&self) -> Result<Box<dyn HubStore>, Failure> {
        Ok(match self {
            Self::Sqlite(path) => Box::new(SqliteStore::open(path)?),
            Self::Postgres(it) => Box::new(PostgresStore::open(&it.url(), None, Trust::public())?),
        })
    }
}

impl OnServer {
    /// Copies the database of a hub to the server. The file cannot be served any more.
    pub(super) fn from_file(path: &Path) -> Result<Self, Failure> {
        let own = Self::create("template0")?;
        let mut store = PostgresStore::open(&own.url(), None, Trust::public())?;
        migrate(&mut SqliteStore::open(path)?, &mut store)?;
        Ok(own)
    }

    /// Makes a copy, which takes the server a moment. Nothing is connected to this one.
    pub(super) fn copy(&self) -> Result<Self, Failure> {
        Self::create(&self.name)
    }

    fn create(template: &str) -> Result<Self, Failure> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let server = server().ok_or("there is no PostgreSQL server")?;
        let name = format!("bench_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        run(&server, &format!("CREATE DATABASE {name} TEMPLATE {template}"))?;
        Ok(Self { server, name })
    }

    fn url(&self) -> String {
        format!("{}/{}", self.server, self.name)
    }
}

impl Drop for OnServer {
    fn drop(&mut self) {
        // If it fails, the database stays on the server, which is one of tests.
        let _ = run(&self.server, &format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

/// Returns the URL of the server, without a database.
fn server() -> Option<String> {
    env::var("ENDSEAL_TEST_POSTGRES").ok()
}

/// Runs a statement on a thread of its own, as this one may be that of a runtime.
fn run(server: &str, sql: &str) -> Result<(), Failure> {
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let (client, driver) = tokio_postgres::connect(server, NoTls).await?;
            tokio::spawn(driver);
            Ok(client.batch_execute(sql).await?)
        })
    };
    thread::scope(|scope| scope.spawn(work).join()).map_err(|_| "a thread panicked")?
}

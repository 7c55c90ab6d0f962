//! The database of a test: a file, or a new database on the server that
//! `ENDSEAL_TEST_POSTGRES` names (`tests/hub/run --engine postgres`).

use std::env;
use std::path::PathBuf;
use std::thread;

use endseal_crypto::random::{OsRandom, Random as _};
use endseal_hub::{HubStore, PostgresStore, SqliteStore};
use endseal_service::Trust;
use endseal_testing::Scratch;
use tokio_postgres::NoTls;

#[derive(Clone)]
pub(crate) enum Database {
    Sqlite(PathBuf),
    /// Its address.
    Postgres(String),
}

impl Database {
    pub(crate) fn new(folder: &Scratch) -> Self {
        match env::var("ENDSEAL_TEST_POSTGRES") {
            Ok(server) => Self::Postgres(create(&server)),
            Err(_) => Self::Sqlite(folder.path("hub.db")),
        }
    }

    pub(crate) fn open(&self) -> Box<dyn HubStore> {
        match self {
            Self::Sqlite(path) => Box::new(SqliteStore::open(path).unwrap()),
            Self::Postgres(url) => {
                Box::new(PostgresStore::open(url, None, Trust::public()).unwrap())
            }
        }
    }

    /// Copies the database as the tools of the server do.
    pub(crate) fn copied(&self) -> Self {
        let Self::Postgres(url) = self else { panic!("it is a file") };
        let (server, name) = url.rsplit_once('/').unwrap();
        let copy = format!("{name}_copy");
        execute(server, &format!("CREATE DATABASE {copy} TEMPLATE {name}"));
        Self::Postgres(format!("{server}/{copy}"))
    }

    /// Lets no one connect, and ends all connections.
    pub(crate) fn close(&self) {
        let Self::Postgres(url) = self else { panic!("it is a file") };
        let (server, name) = url.rsplit_once('/').unwrap();
        execute(server, &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"));
        execute(
            server,
            &format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
            ),
        );
    }

    pub(crate) fn reopen(&self) {
        let Self::Postgres(url) = self else { panic!("it is a file") };
        let (server, name) = url.rsplit_once('/').unwrap();
        execute(server, &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true"));
    }

    /// Changes rows without the program.
    pub(crate) fn change(&self, sql: &str) {
        match self {
            Self::Sqlite(path) => {
                rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap()
            }
            Self::Postgres(url) => execute(url, sql),
        }
    }

    /// Refuses new messages as a server does whose disk is full.
    pub(crate) fn fill_disk(&self) {
        let Self::Postgres(url) = self else { panic!("it is a file") };
        execute(
            url,
            "CREATE FUNCTION full() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN RAISE EXCEPTION USING ERRCODE = ''disk_full''; END';
            CREATE TRIGGER full_disk BEFORE INSERT ON message FOR EACH ROW EXECUTE FUNCTION full()",
        );
    }

    /// Takes messages again.
    pub(crate) fn free_disk(&self) {
        let Self::Postgres(url) = self else { panic!("it is a file") };
        execute(url, "DROP TRIGGER full_disk ON message");
    }

    /// Does `work` until no other process is connected before it, as if the others did not run.
    pub(crate) fn without_others(&self, mut work: impl FnMut()) {
        self.close();
        self.reopen();
        work();
    }

    /// Returns the number in the first column of a query for a peer, `$1`.
    pub(crate) fn count(&self, sql: &str, peer: &[u8]) -> i64 {
        match self {
            Self::Sqlite(path) => {
                let database = rusqlite::Connection::open(path).unwrap();
                database.query_row(sql, [peer], |row| row.get(0)).unwrap()
            }
            Self::Postgres(url) => blocking(async {
                let (client, driver) = tokio_postgres::connect(url, NoTls).await.unwrap();
                tokio::spawn(driver);
                client.query_one(sql, &[&peer]).await.unwrap().get(0)
            }),
        }
    }
}

/// Makes a database on a server, and returns its address.
fn create(server: &str) -> String {
    let mut number = [0; 8];
    OsRandom.fill(&mut number).unwrap();
    let name = format!("test_{:016x}", u64::from_le_bytes(number));
    blocking(async {
        let (client, driver) = tokio_postgres::connect(server, NoTls).await.unwrap();
        tokio::spawn(driver);
        client.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    });
    format!("{server}/{name}")
}

/// Runs a statement on a server.
fn execute(server: &str, sql: &str) {
    blocking(async {
        let (client, driver) = tokio_postgres::connect(server, NoTls).await.unwrap();
        tokio::spawn(driver);
        client.batch_execute(sql).await.unwrap();
    });
}

/// Runs a future on a thread of its own, as the test may have a runtime on this one.
fn blocking<T: Send>(work: impl Future<Output = T> + Send) -> T {
    let run = || tokio::runtime::Runtime::new().unwrap().block_on(work);
    thread::scope(|scope| scope.spawn(run).join().unwrap())
}

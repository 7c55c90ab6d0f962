//! Storage in PostgreSQL, for several processes of one hub.

mod announce;
mod copy;
mod link;
mod read;
mod transaction;

use core::fmt;
use core::ops::Range;
use std::thread;
use std::time::Duration;

use endseal_codec::frame::ReplayWindow;
use endseal_crypto::peer_id::PeerId;
use endseal_service::Trust;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio_postgres::{Config, Row, Transaction};

use self::link::{Link, Server, WITH_TIMEOUT, WITHOUT_TIMEOUT, bytes, column, unsigned};
use self::read::PostgresReader;
use self::transaction::PostgresTransaction;
use super::migration::COMPLETE;
use super::{
    CHECKS, Cell, ChangeListener, DeviceRow, DeviceState, HubReader, HubStore, HubTransaction,
    Importer, Migrations, OpenInvitation, Space, StorageError, Table,
};

/// Version of `schema.sql`, in the table `meta`: raised with each change, as no other one is read.
const VERSION: [u8; 4] = 5_u32.to_be_bytes();
/// Key of the lock under which tables are made.
const SCHEMA_LOCK: i64 = 0x6568_7562;
/// Times that a transaction is started while connections break.
const BEGIN_ATTEMPTS: u32 = 3;
/// Times that a transaction is repeated which has met another one.
const REPEATS: u32 = 8;

/// The database of a hub on a PostgreSQL server.
pub struct PostgresStore {
    runtime: Runtime,
    server: Server,
    link: Option<Link>,
    /// Numbers of messages that this process may use.
    numbers: Range<i64>,
    announcements: Option<mpsc::Sender<DeviceRow>>,
    /// True if the database was copied to another one.
    is_retired: bool,
    /// True if the database is known to be that of a hub.
    is_open: bool,
    /// Prekeys and invitations that were deleted when it was opened, as it is a restored copy.
    forgotten: (u64, u64),
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address can have a password.
        f.debug_struct("PostgresStore").finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Opens the database of a hub, and makes its tables if there are none. The password is used if
    /// the address has none.
    ///
    /// # Errors
    /// [`StorageError`] if the address is not one of PostgreSQL, the server cannot be reached or
    /// its certificate is not trusted, or the database is not that of a hub of this version.
    pub fn open(url: &str, password: Option<&str>, trust: Trust) -> Result<Self, StorageError> {
        let server = Server::parse(url, password, trust)?;
        let mut store = Self {
            runtime: runtime()?,
            server,
            link: None,
            numbers: 0..0,
            announcements: None,
            is_retired: false,
            is_open: false,
            forgotten: (0, 0),
        };
        store.forgotten = store.run(async |link| {
            let transaction = link.client.transaction().await?;
            transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&SCHEMA_LOCK]).await?;
            let sql = "SELECT to_regclass('meta') IS NOT NULL, to_regclass('delivery') IS NOT NULL";
            let row = transaction.query_one(sql, &[]).await?;
            match (column(&row, 0)?, column(&row, 1)?) {
                (false, false) => {
                    transaction.batch_execute(include_str!("postgres/schema.sql")).await?;
                    let sql = "INSERT INTO meta (name, value) VALUES ('version', $1)";
                    transaction.execute(sql, &[&&VERSION[..]]).await?;
                }
                (true, true) => {
                    let sql = "SELECT value FROM meta WHERE name = 'version'";
                    let row = transaction.query_opt(sql, &[]).await?;
                    let row = row.ok_or(StorageError::Format("it is another database"))?;
                    if column::<&[u8]>(&row, 0)? != VERSION {
                        return Err(StorageError::Format("it has another version"));
                    }
                }
                _ => return Err(StorageError::Format("it is another database")),
            }
            let forgotten = forget_if_restored(&transaction).await?;
            transaction.commit().await?;
            Ok(forgotten)
        })?;
        store.is_retired = store.migrations()?.retired_by.is_some();
        store.is_open = true;
        Ok(store)
    }

    /// Returns true if an address has a password.
    #[must_use]
    pub fn has_password(url: &str) -> bool {
        url.parse::<Config>().is_ok_and(|it| it.get_password().is_some())
    }

    /// Runs statements, on a new connection if there is none or it has broken.
    fn run<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Link) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        self.connect()?;
        match &mut self.link {
            Some(link) => self.runtime.block_on(work(link)),
            None => Err(StorageError::Format("there is no connection")),
        }
    }

    fn connect(&mut self) -> Result<(), StorageError> {
        if self.is_retired && self.announcements.is_some() {
            return Err(StorageError::Retired);
        }
        if self.link.as_ref().is_none_or(|link| link.client.is_closed()) {
            let mut link = self.runtime.block_on(Link::open(&self.server))?;
            // The database may have been moved while this process had no connection, or did not
            // run.
            if self.is_open && !self.is_retired {
                let retired = self.runtime.block_on(copy::token(&mut link, "retired_by"))?;
                self.is_retired = retired.is_some();
                if self.is_retired {
                    return Err(StorageError::Retired);
                }
            }
            self.link = Some(link);
        }
        Ok(())
    }

    /// Begins a transaction, on a new connection if the last one has ended since it was used.
    fn begin(&mut self) -> Result<(), StorageError> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let started = self.run(async |link| Ok(link.client.batch_execute("BEGIN").await?));
            if started.is_ok() || attempt == BEGIN_ATTEMPTS {
                return started;
            }
            // The server has ended it, perhaps long ago.
            self.link = None;
        }
    }

    /// Runs a transaction once.
    fn attempt(
        &mut self,
        work: &mut dyn FnMut(&mut dyn HubTransaction) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        self.begin()?;
        let Self { runtime, link: Some(link), numbers, .. } = self else {
            return Err(StorageError::Format("there is no connection"));
        };
        let mut transaction = PostgresTransaction::new(runtime, link, numbers);
        let done = work(&mut transaction).and_then(|()| transaction.flush());
        match done {
            Ok(()) => Ok(runtime.block_on(link.client.batch_execute("COMMIT"))?),
            Err(cause) => {
                if runtime.block_on(link.client.batch_execute("ROLLBACK")).is_err() {
                    self.link = None;
                }
                Err(cause)
            }
        }
    }
}

const PREKEYS: &str = "DELETE FROM prekey WHERE one_time = 1";
const INVITATIONS: &str = "DELETE FROM invitation WHERE uses > 0";

/// Deletes what must be used once alone if the database is a copy: then it has another number, or
/// is on another server, than was noted in it. Returns the numbers of prekeys and invitations.
async fn forget_if_restored(transaction: &Transaction<'_>) -> Result<(u64, u64), StorageError> {
    let sql = "SELECT oid::text || ' ' || (SELECT system_identifier FROM pg_control_system())
        FROM pg_database WHERE datname = current_database()";
    let here: String = column(&transaction.query_one(sql, &[]).await?, 0)?;
    let sql = "SELECT value FROM meta WHERE name = 'place'";
    let noted = transaction.query_opt(sql, &[]).await?;
    let noted = noted.map(|row| column::<Vec<u8>>(&row, 0)).transpose()?;
    if noted.as_deref() == Some(here.as_bytes()) {
        return Ok((0, 0));
    }
    let sql = "INSERT INTO meta (name, value) VALUES ('place', $1)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    transaction.execute(sql, &[&here.as_bytes()]).await?;
    if noted.is_none() {
        return Ok((0, 0));
    }
    let prekeys = transaction.execute(PREKEYS, &[]).await?;
    let invitations = transaction.execute(INVITATIONS, &[]).await?;
    tracing::warn!(
        target: "hub", prekeys, invitations,
        "the database is a restored copy: what may have been used since is dropped"
    );
    Ok((prekeys, invitations))
}

/// Makes the runtime of a thread, on which its connection works while it waits for an answer.
fn runtime() -> Result<Runtime, StorageError> {
    let runtime = Builder::new_current_thread().enable_io().enable_time().build();
    runtime.map_err(|error| StorageError::Database(Box::new(error)))
}

/// Columns of a device, as [`device`] reads them.
macro_rules! device_columns {
    () => {
        "SELECT id, peer, identity, certificate, revoked, seen, last, gap_count, gap_position,
            frames, bytes, acknowledged, published, dropped, pending, invitation, visited"
    };
}
use device_columns;

fn device(row: &Row) -> Result<DeviceState, StorageError> {
    let window = match column::<Option<&[u8]>>(row, 5)? {
        None => ReplayWindow::new(),
        Some(seen) => {
            let seen = seen.try_into();
            ReplayWindow::from_bytes(
                &seen.map_err(|_| StorageError::Format("a window has another length"))?,
            )
        }
    };
    Ok(DeviceState {
        row: DeviceRow(column(row, 0)?),
        peer: PeerId::from_bytes(&bytes(row, 1)?),
        identity: bytes(row, 2)?,
        certificate: column(row, 3)?,
        is_revoked: unsigned(row, 4)? != 0,
        window,
        last: unsigned(row, 6)?,
        gap: (unsigned(row, 7)?, unsigned(row, 8)?),
        frames: unsigned(row, 9)?,
        bytes: unsigned(row, 10)?,
        acknowledged: unsigned(row, 11)?,
        published: unsigned(row, 12)?,
        dropped: unsigned(row, 13)?,
        is_pending: unsigned(row, 14)? != 0,
        invitation: column(row, 15)?,
        visited: unsigned(row, 16)?,
    })
}

impl HubStore for PostgresStore {
    fn devices(&mut self) -> Result<Vec<DeviceState>, StorageError> {
        self.run(async |link| {
            let sql = concat!(device_columns!(), " FROM device ORDER BY id");
            link.query(sql, &[]).await?.iter().map(device).collect()
        })
    }

    fn transact(
        &mut self,
        work: &mut dyn FnMut(&mut dyn HubTransaction) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        for repeat in 0..REPEATS {
            match self.attempt(work) {
                // The other process goes first, as it waits less.
                Err(StorageError::Conflict) => {
                    thread::sleep(Duration::from_millis(1 << repeat.min(6)));
                }
                result => return result,
            }
        }
        self.attempt(work)
    }

    fn was_changed(&mut self) -> Result<bool, StorageError> {
        // Others may have done so at any time.
        Ok(true)
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn invitations(&mut self) -> Result<Vec<OpenInvitation>, StorageError> {
        self.run(async |link| {
            let sql =
                "SELECT name, expires, uses FROM invitation WHERE uses > 0 ORDER BY name, expires";
            let invitation = |row: &Row| {
                let uses = u32::try_from(unsigned(row, 2)?).unwrap_or(u32::MAX);
                Ok(OpenInvitation { name: column(row, 0)?, expires: unsigned(row, 1)?, uses })
            };
            link.query(sql, &[]).await?.iter().map(invitation).collect()
        })
    }

    fn forget_single_use(&mut self) -> Result<(u64, u64), StorageError> {
        let (prekeys, invitations) = core::mem::take(&mut self.forgotten);
        self.run(async |link| {
            let more = link.execute(PREKEYS, &[]).await?;
            let further = link.execute(INVITATIONS, &[]).await?;
            Ok((prekeys + more, invitations + further))
        })
    }

    fn check(&mut self) -> Result<Vec<String>, StorageError> {
        self.run(async |link| {
            let mut wrong = Vec::new();
            link.client.batch_execute(WITHOUT_TIMEOUT).await?;
            for (query, fault) in CHECKS {
                let row = link.query_opt(query, &[]).await?;
                let count = row.map_or(Ok(0), |row| column::<i64>(&row, 0))?;
                if count > 0 {
                    wrong.push(format!("{fault}: {count}"));
                }
            }
            link.client.batch_execute(WITH_TIMEOUT).await?;
            Ok(wrong)
        })
    }

    fn listen(&mut self, listener: ChangeListener) -> Result<(), StorageError> {
        self.announcements = Some(announce::start(self.server.clone(), listener)?);
        Ok(())
    }

    fn announce(&mut self, devices: &[DeviceRow]) {
        let Some(announcements) = &self.announcements else { return };
        for device in devices {
            let _ = announcements.try_send(*device);
        }
    }

    /// Deleted rows are used again, and the server does not tell how much its disk has left.
    fn space(&mut self) -> Result<Space, StorageError> {
        Ok(Space { used: None, unused: 0, free: u64::MAX })
    }

    fn shrink(&mut self) -> Result<(), StorageError> {
        Ok(())
    }

    fn export(
        &mut self,
        table: &Table,
        each: &mut dyn FnMut(Vec<Cell>) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        self.connect()?;
        let Self { runtime, link: Some(link), .. } = self else {
            return Err(StorageError::Format("there is no connection"));
        };
        copy::export(runtime, link, table, each)
    }

    fn import(
        &mut self,
        token: &[u8; 16],
        fill: &mut dyn FnMut(&mut dyn Importer) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        self.connect()?;
        let Self { runtime, link: Some(link), .. } = self else {
            return Err(StorageError::Format("there is no connection"));
        };
        let imported = copy::import(runtime, link, token, fill);
        if imported.is_err() {
            // What was written is taken back with the connection.
            self.link = None;
        }
        imported
    }

    fn migrations(&mut self) -> Result<Migrations, StorageError> {
        self.run(async |link| {
            let filled_by = copy::token(link, "filled_by").await?;
            let retired_by = copy::token(link, "retired_by").await?;
            let sql = "SELECT 1 FROM meta WHERE name = $1";
            let is_complete = link.query_opt(sql, &[&COMPLETE]).await?.is_some();
            Ok(Migrations { filled_by, retired_by, is_complete })
        })
    }

    fn is_retired(&self) -> bool {
        self.is_retired
    }

    fn retire(&mut self, token: &[u8; 16]) -> Result<(), StorageError> {
        let was_retired = self.is_retired;
        self.run(async |link| {
            let sql = "INSERT INTO meta (name, value) VALUES ('retired_by', $1)
                ON CONFLICT (name) DO UPDATE SET value = excluded.value";
            link.execute(sql, &[&&token[..]]).await?;
            // A hub that starts now is refused; those that run hold a connection. They are looked
            // for each time, as an earlier run may have ended before it did so.
            let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                AND application_name = 'endseal-hub' AND pid <> pg_backend_pid()";
            let row = link.query_opt(sql, &[]).await?;
            if row.map_or(Ok(0), |row| column::<i64>(&row, 0))? > 0 {
                // The mark of an earlier run stays, as its copy may be complete.
                if !was_retired {
                    link.execute("DELETE FROM meta WHERE name = 'retired_by'", &[]).await?;
                }
                return Err(StorageError::Migration("a hub serves from the database"));
            }
            Ok(())
        })?;
        self.is_retired = true;
        Ok(())
    }

    fn reader(&self) -> Result<Box<dyn HubReader>, StorageError> {
        Ok(Box::new(PostgresReader::open(&self.server)?))
    }
}

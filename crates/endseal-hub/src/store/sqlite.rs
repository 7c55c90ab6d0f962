//! Storage in SQLite.

mod copy;
mod read;
mod transaction;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use endseal_codec::frame::ReplayWindow;
use endseal_crypto::peer_id::PeerId;
use rusqlite::{Connection, OpenFlags, Row};

use self::read::SqliteReader;
use self::transaction::SqliteTransaction;
use super::migration::COMPLETE;
use super::{
    CHECKS, Cell, DeviceRow, DeviceState, HubReader, HubStore, HubTransaction, Importer,
    Migrations, OpenInvitation, Space, StorageError, Table,
};

/// The application id of the file: "ehub" in ASCII.
const APPLICATION: i32 = 0x6568_7562;
/// Version of `schema.sql`, in `user_version`: raised with each change, as no other one is read.
const VERSION: i32 = 9;
/// Longest wait for a lock that another command on the same machine holds on the database.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Pages that [`HubStore::shrink`] gives back in one call.
const SHRUNK_PAGES: u32 = 1_024;

/// The log is cut to this length when it begins anew.
const SETTINGS: &str = "
    PRAGMA auto_vacuum = INCREMENTAL;
    PRAGMA journal_size_limit = 8388608;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA fullfsync = ON;
    PRAGMA checkpoint_fullfsync = ON;
    PRAGMA secure_delete = ON;
    PRAGMA temp_store = MEMORY;
    PRAGMA trusted_schema = OFF;
    PRAGMA cell_size_check = ON;
    PRAGMA cache_size = -8192;
";

/// The database file of a hub.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    connection: Connection,
    /// SQLite's count of the changes of others, as it was read last.
    version: Option<i64>,
    /// True if the database was copied to another one.
    is_retired: bool,
}

impl SqliteStore {
    /// Opens the database of a hub, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`StorageError`] if the file cannot be opened, or is not the database of a hub of this
    /// version.
    pub fn open(path: &Path) -> Result<Self, StorageError> {
        // The file is created here with mode 0600: SQLite would let other users read it.
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path);
        file.map_err(|_| StorageError::Format("it cannot be opened"))?;
        let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.execute_batch(SETTINGS)?;
        let transaction = connection.transaction()?;
        let number = |name: &str| -> Result<i32, rusqlite::Error> {
            transaction.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
        };
        match (number("application_id")?, number("user_version")?) {
            (0, 0) if number("schema_version")? == 0 => {
                transaction.execute_batch(include_str!("schema.sql"))?;
                transaction.pragma_update(None, "application_id", APPLICATION)?;
                transaction.pragma_update(None, "user_version", VERSION)?;
            }
            (APPLICATION, VERSION) => {}
            (APPLICATION, _) => return Err(StorageError::Format("it has another version")),
            _ => return Err(StorageError::Format("it is another database")),
        }
        transaction.commit()?;
        let retired_by = copy::token(&connection, "retired_by")?;
        Ok(Self {
            path: path.to_owned(),
            connection,
            version: None,
            is_retired: retired_by.is_some(),
        })
    }

    /// Opens the database of a hub, which must exist: an empty one in the place of one that is gone
    /// would be a hub that knows no one.
    ///
    /// # Errors
    /// As for [`Self::open`], and if there is no file or an empty one.
    pub fn open_existing(path: &Path) -> Result<Self, StorageError> {
        match fs::metadata(path) {
            Ok(file) if file.len() > 0 => Self::open(path),
            Ok(_) => Err(StorageError::Format("it is empty")),
            Err(_) => Err(StorageError::Format("there is no file")),
        }
    }

    /// Copies the database to a file while it is in use. The file MUST be a new one for this copy
    /// alone: after an error it holds a part.
    ///
    /// # Errors
    /// [`StorageError`] if copying fails.
    pub fn copy_to(&self, file: &Path) -> Result<(), StorageError> {
        let mode = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut copy = connect(file, mode)?;
        let backup = rusqlite::backup::Backup::new(&self.connection, &mut copy)?;
        backup.run_to_completion(1_000, Duration::ZERO, None)?;
        drop(backup);
        drop(copy);
        Self::open(file)?.into_one_file()
    }

    /// Closes the database in a form without a log beside it.
    ///
    /// # Errors
    /// [`StorageError`] if the log cannot be written back.
    pub fn into_one_file(self) -> Result<(), StorageError> {
        Ok(self.connection.pragma_update(None, "journal_mode", "DELETE")?)
    }
}

fn connect(path: &Path, mode: OpenFlags) -> Result<Connection, StorageError> {
    let flags = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

fn unsigned(row: &Row<'_>, at: usize) -> Result<u64, rusqlite::Error> {
    let number: i64 = row.get(at)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(at, number))
}

fn bytes<const N: usize>(row: &Row<'_>, at: usize) -> Result<[u8; N], rusqlite::Error> {
    let value = row.get_ref(at)?.as_blob()?;
    value.try_into().map_err(|_| rusqlite::Error::InvalidColumnIndex(at))
}

/// Columns of a device, as [`device`] reads them.
const DEVICE: &str = "SELECT id, peer, identity, certificate, revoked, seen, last, gap_count,
    gap_position, frames, bytes, acknowledged, published, dropped, pending, invitation,
    visited";

fn device(row: &Row<'_>) -> Result<DeviceState, rusqlite::Error> {
    let seen: Option<Vec<u8>> = row.get(5)?;
    let window = match seen {
        None => ReplayWindow::new(),
        Some(seen) => {
            let seen = seen.as_slice().try_into();
            ReplayWindow::from_bytes(&seen.map_err(|_| rusqlite::Error::InvalidColumnIndex(5))?)
        }
    };
    Ok(DeviceState {
        row: DeviceRow(row.get(0)?),
        peer: PeerId::from_bytes(&bytes(row, 1)?),
        identity: bytes(row, 2)?,
        certificate: row.get(3)?,
        is_revoked: row.get(4)?,
        window,
        last: unsigned(row, 6)?,
        gap: (unsigned(row, 7)?, unsigned(row, 8)?),
        frames: unsigned(row, 9)?,
        bytes: unsigned(row, 10)?,
        acknowledged: unsigned(row, 11)?,
        published: unsigned(row, 12)?,
        dropped: unsigned(row, 13)?,
        is_pending: row.get(14)?,
        invitation: row.get(15)?,
        visited: unsigned(row, 16)?,
    })
}

impl HubStore for SqliteStore {
    fn devices(&mut self) -> Result<Vec<DeviceState>, StorageError> {
        let mut statement = self.connection.prepare(&format!("{DEVICE} FROM device"))?;
        let devices = statement.query_map([], device)?;
        Ok(devices.collect::<Result<_, _>>()?)
    }

    fn transact(
        &mut self,
        work: &mut dyn FnMut(&mut dyn HubTransaction) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let behaviour = rusqlite::TransactionBehavior::Immediate;
        let mut transaction =
            SqliteTransaction(self.connection.transaction_with_behavior(behaviour)?);
        work(&mut transaction)?;
        Ok(transaction.0.commit()?)
    }

    fn was_changed(&mut self) -> Result<bool, StorageError> {
        let mut statement = self.connection.prepare_cached("PRAGMA data_version")?;
        let version: i64 = statement.query_row([], |row| row.get(0))?;
        let before = self.version.replace(version);
        Ok(before.is_some_and(|before| before != version))
    }

    fn invitations(&mut self) -> Result<Vec<OpenInvitation>, StorageError> {
        let sql =
            "SELECT name, expires, uses FROM invitation WHERE uses > 0 ORDER BY name, expires";
        let mut statement = self.connection.prepare(sql)?;
        let invitations = statement.query_map([], |row| {
            let (name, expires) = (row.get(0)?, unsigned(row, 1)?);
            Ok(OpenInvitation { name, expires, uses: row.get(2)? })
        })?;
        Ok(invitations.collect::<Result<_, _>>()?)
    }

    fn forget_single_use(&mut self) -> Result<(u64, u64), StorageError> {
        let transaction = self.connection.transaction()?;
        let prekeys = transaction.execute("DELETE FROM prekey WHERE one_time = 1", [])?;
        let invitations = transaction.execute("DELETE FROM invitation WHERE uses > 0", [])?;
        transaction.commit()?;
        Ok((prekeys as u64, invitations as u64))
    }

    fn check(&mut self) -> Result<Vec<String>, StorageError> {
        let mut wrong = Vec::new();
        let mut statement = self.connection.prepare("PRAGMA integrity_check(100)")?;
        for line in statement.query_map([], |row| row.get::<_, String>(0))? {
            let line = line?;
            if line != "ok" {
                wrong.push(line);
            }
        }
        for (query, fault) in CHECKS {
            let count: i64 = self.connection.query_row(query, [], |row| row.get(0))?;
            if count > 0 {
                wrong.push(format!("{fault}: {count}"));
            }
        }
        Ok(wrong)
    }

    fn space(&mut self) -> Result<Space, StorageError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT page_size * (page_count - freelist_count), page_size * freelist_count
                FROM pragma_page_size, pragma_page_count, pragma_freelist_count",
        )?;
        let (used, unused) =
            statement.query_row([], |row| Ok((unsigned(row, 0)?, unsigned(row, 1)?)))?;
        let system = rustix::fs::statvfs(&self.path)
            .map_err(|_| StorageError::Format("the space of its file system is not known"))?;
        Ok(Space {
            used: Some(used),
            unused,
            free: system.f_bavail.saturating_mul(system.f_frsize),
        })
    }

    fn shrink(&mut self) -> Result<(), StorageError> {
        // A checkpoint cuts the file.
        for sql in [
            format!("PRAGMA incremental_vacuum({SHRUNK_PAGES})"),
            "PRAGMA wal_checkpoint(PASSIVE)".to_owned(),
        ] {
            let mut statement = self.connection.prepare(&sql)?;
            let mut rows = statement.query([])?;
            // Each step gives one page back.
            while rows.next()?.is_some() {}
        }
        Ok(())
    }

    fn export(
        &mut self,
        table: &Table,
        each: &mut dyn FnMut(Vec<Cell>) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        copy::export(&self.connection, table, each)
    }

    fn import(
        &mut self,
        token: &[u8; 16],
        fill: &mut dyn FnMut(&mut dyn Importer) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        copy::import(&mut self.connection, token, fill)
    }

    fn migrations(&mut self) -> Result<Migrations, StorageError> {
        let filled_by = copy::token(&self.connection, "filled_by")?;
        let retired_by = copy::token(&self.connection, "retired_by")?;
        let sql = "SELECT EXISTS (SELECT 1 FROM meta WHERE name = ?)";
        let is_complete = self.connection.query_row(sql, [COMPLETE], |row| row.get(0))?;
        Ok(Migrations { filled_by, retired_by, is_complete })
    }

    fn is_retired(&self) -> bool {
        self.is_retired
    }

    fn retire(&mut self, token: &[u8; 16]) -> Result<(), StorageError> {
        let sql = "INSERT OR REPLACE INTO meta (name, value) VALUES ('retired_by', ?)";
        self.connection.execute(sql, [&token[..]])?;
        self.is_retired = true;
        Ok(())
    }

    fn reader(&self) -> Result<Box<dyn HubReader>, StorageError> {
        Ok(Box::new(SqliteReader(connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?)))
    }
}

//! The connection to the database: its key and its settings (docs/spec/store.md, "Database").

use core::fmt::Write as _;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use endseal_crypto::secret::Zeroizing;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, Error, OpenFlags};

use crate::directory;
use crate::key_file::StoreKey;
use crate::rows;

/// Opens the database with its key and all settings. A wrong key shows at the first read. An empty
/// file is an empty database; one that is not there is not made, because SQLite would let others
/// read it.
pub(crate) fn open(path: &Path, key: &StoreKey) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    initialise()?;
    let connection = Connection::open_with_flags(path, flags)?;
    // Closing writes nothing: a database that does not open is left as it was found.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // SQLCipher returns its findings as errors; without this setting it prints them to stderr, too.
    connection.execute_batch("PRAGMA cipher_log_level = NONE")?;
    connection.execute_batch(&key_pragma(key))?;
    connection.execute_batch(CIPHER)?;
    connection.execute_batch(SETTINGS)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// Starts SQLite and SQLCipher, once in a process. SQLite counts as started before SQLCipher is, so
/// a connection that another thread opens meanwhile cannot set its key.
fn initialise() -> Result<(), Error> {
    static STARTED: Mutex<bool> = Mutex::new(false);
    // A thread that panicked while it held the lock has not started SQLite, so the flag is right.
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    if !*started {
        Connection::open_in_memory()?;
        *started = true;
    }
    Ok(())
}

/// Reads the log once and writes the same bytes back, with an fsync.
///
/// A process that was killed may leave a log that is in the kernel's cache but not on the medium.
/// After a failed fsync the kernel may treat unwritten pages as written. A process that opens the
/// database acts on what it reads, so the log must be on the medium first.
pub(crate) fn settle_log(path: &Path) -> io::Result<()> {
    let mut file = match directory::private().open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // SQLite would make it, and does not mind if the directory cannot be synchronised.
            directory::private().create_new(true).open(path)?;
            directory::synchronise_parent(path)?;
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let mut piece = vec![0; 1 << 16];
    let mut at = 0;
    loop {
        let len = file.read(&mut piece)?;
        if len == 0 {
            break;
        }
        file.seek(SeekFrom::Start(at))?;
        file.write_all(&piece[..len])?;
        at += u64::try_from(len).unwrap_or(0);
    }
    if at > 0 {
        file.sync_all()?;
    }
    Ok(())
}

/// Sets if commits make an fsync. Checkpoints make one in both cases.
pub(crate) fn set_synchronous(connection: &Connection, full: bool) -> Result<(), Error> {
    connection.pragma_update(None, "synchronous", if full { "FULL" } else { "NORMAL" })
}

/// Moves the log into the database; the number of its frames that belong to commits. The log keeps
/// its length.
pub(crate) fn move_log(connection: &Connection) -> Result<u64, Error> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| rows::number(row, 1))
}

/// Moves the log into the database and truncates it.
pub(crate) fn checkpoint(connection: &Connection) -> Result<(), Error> {
    // The columns are busy, frames, moved. There is no other connection, so it is never busy.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

fn key_pragma(key: &StoreKey) -> Zeroizing<String> {
    let mut sql = Zeroizing::new(String::with_capacity(128));
    sql.push_str("PRAGMA key = \"x'");
    for byte in key.expose_secret() {
        // Writing to a string does not fail.
        let _ = write!(sql, "{byte:02x}");
    }
    sql.push_str("'\"");
    sql
}

/// These come before the first read.
const CIPHER: &str = "
    PRAGMA cipher_page_size = 4096;
    PRAGMA cipher_hmac_algorithm = HMAC_SHA256;
    PRAGMA cipher_memory_security = OFF;
";

/// `fullfsync` is for Apple, whose `fsync` leaves data in the cache of the disk; other systems
/// ignore it. `locking_mode` comes before the log is first used, so that its index is in memory.
const SETTINGS: &str = "
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA synchronous = FULL;
    PRAGMA fullfsync = ON;
    PRAGMA checkpoint_fullfsync = ON;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA secure_delete = ON;
    PRAGMA temp_store = MEMORY;
    PRAGMA foreign_keys = ON;
    PRAGMA trusted_schema = OFF;
    PRAGMA cell_size_check = ON;
    PRAGMA cache_size = -8192;
";

/// More than there are statements in this crate.
const STATEMENTS: usize = 64;

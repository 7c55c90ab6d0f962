//! Storage in SQLite.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use endseal_codec::frame::ReplayWindow;
use endseal_crypto::peer_id::PeerId;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, Transaction, params};

use crate::digest::short_digest;

use super::{
    Deleted, Delivery, DeviceRow, DeviceState, HubReader, HubStore, HubTransaction, OpenInvitation,
    Share, Space, StorageError, StoreState,
};

/// The application id of the file: "ehub" in ASCII.
const APPLICATION: i32 = 0x6568_7562;
/// Version of `schema.sql`, in `user_version`: raised with each change, as no other one is read.
const VERSION: i32 = 4;
/// Longest wait for a lock that another command on the same machine holds on the database.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of frames and number of frames that one call deletes at most. Deleted pages are written as
/// zeros, so that a transaction needs as much space in the log as it frees.
const DELETED_BYTES: u64 = 8 << 20;
const DELETED_FRAMES: u64 = 4_096;
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
        Ok(Self { path: path.to_owned(), connection, version: None })
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

    /// Deletes what must not be used after a database was put back: one-time prekeys may have been
    /// given out since, and invitations used. Owners publish new prekeys with their next visit.
    /// Returns the numbers of deleted prekeys and invitations.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    pub fn forget_single_use(&mut self) -> Result<(usize, usize), StorageError> {
        let transaction = self.connection.transaction()?;
        let prekeys = transaction.execute("DELETE FROM prekey WHERE one_time = 1", [])?;
        let invitations = transaction.execute("DELETE FROM invitation WHERE uses > 0", [])?;
        transaction.commit()?;
        Ok((prekeys, invitations))
    }

    /// Checks every page and every reference. Returns a description of each fault.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be read.
    pub fn check(&self) -> Result<Vec<String>, StorageError> {
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
}

/// Queries that count violations of an invariant. Each count must be 0.
const CHECKS: [(&str, &str); 4] = [
    (
        "SELECT count(*) FROM delivery WHERE message NOT IN (SELECT id FROM message)
            OR device NOT IN (SELECT id FROM device)",
        "deliveries without a message or a device",
    ),
    (
        "SELECT count(*) FROM message LEFT JOIN
            (SELECT message, count(*) AS held FROM delivery GROUP BY message) ON message = id
            WHERE mailboxes IS NOT coalesce(held, 0)",
        "messages with a wrong number of mailboxes",
    ),
    (
        "SELECT count(*) FROM device LEFT JOIN
            (SELECT device, count(*) AS held FROM delivery GROUP BY device) ON device = id
            WHERE frames IS NOT coalesce(held, 0)",
        "mailboxes with a wrong number of frames",
    ),
    (
        "SELECT count(*) FROM device WHERE identity NOT IN (SELECT identity FROM person)",
        "devices without a person",
    ),
];

fn connect(path: &Path, mode: OpenFlags) -> Result<Connection, StorageError> {
    let flags = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

fn signed(number: u64) -> i64 {
    // Numbers are positions in microseconds and lengths of data in memory, all far below 2^63.
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(row: &Row<'_>, at: usize) -> Result<u64, rusqlite::Error> {
    let number: i64 = row.get(at)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(at, number))
}

fn bytes<const N: usize>(row: &Row<'_>, at: usize) -> Result<[u8; N], rusqlite::Error> {
    let value = row.get_ref(at)?.as_blob()?;
    value.try_into().map_err(|_| rusqlite::Error::InvalidColumnIndex(at))
}

impl HubStore for SqliteStore {
    fn devices(&mut self) -> Result<Vec<DeviceState>, StorageError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, peer, identity, certificate, revoked, seen, last, gap_count, gap_position,
                frames, bytes, acknowledged, published, dropped, pending, invitation FROM device",
        )?;
        let devices = statement.query_map([], |row| {
            let seen: Option<Vec<u8>> = row.get(5)?;
            let window = match seen {
                None => ReplayWindow::new(),
                Some(seen) => {
                    let seen = seen.as_slice().try_into();
                    ReplayWindow::from_bytes(
                        &seen.map_err(|_| rusqlite::Error::InvalidColumnIndex(5))?,
                    )
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
            })
        })?;
        Ok(devices.collect::<Result<_, _>>()?)
    }

    fn transact(
        &mut self,
        work: &mut dyn FnMut(&mut dyn HubTransaction) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let behaviour = rusqlite::TransactionBehavior::Immediate;
        let mut transaction = Write(self.connection.transaction_with_behavior(behaviour)?);
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

    fn shares(&mut self) -> Result<Vec<(DeviceRow, Share)>, StorageError> {
        let mut statement = self.connection.prepare(
            "SELECT device, peer, count(*), sum(length(slot) + length(frame))
                FROM delivery JOIN message ON message.id = message
                JOIN device ON device.id = sender GROUP BY device, sender",
        )?;
        let shares = statement.query_map([], |row| {
            let sender = PeerId::from_bytes(&bytes(row, 1)?);
            let share = Share { sender, frames: unsigned(row, 2)?, bytes: unsigned(row, 3)? };
            Ok((DeviceRow(row.get(0)?), share))
        })?;
        Ok(shares.collect::<Result<_, _>>()?)
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
        Ok(Space { used, unused, free: system.f_bavail.saturating_mul(system.f_frsize) })
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

    fn reader(&self) -> Result<Box<dyn HubReader>, StorageError> {
        Ok(Box::new(Read(connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?)))
    }
}

struct Read(Connection);

impl HubReader for Read {
    fn deliveries(
        &mut self,
        device: DeviceRow,
        after: u64,
        frames: u64,
        bytes: u64,
    ) -> Result<Vec<Delivery>, StorageError> {
        let mut statement = self.0.prepare_cached(
            "SELECT position, slot, frame FROM delivery JOIN message ON message.id = message
                WHERE device = ? AND position > ? ORDER BY position LIMIT ?",
        )?;
        let mut rows = statement.query(params![device.0, signed(after), signed(frames)])?;
        let (mut found, mut total) = (Vec::new(), 0);
        while total < bytes
            && let Some(row) = rows.next()?
        {
            let delivery =
                Delivery { position: unsigned(row, 0)?, slot: row.get(1)?, frame: row.get(2)? };
            total += (delivery.frame.len() + delivery.slot.len()) as u64;
            found.push(delivery);
        }
        Ok(found)
    }

    fn state(&mut self) -> Result<StoreState, StorageError> {
        // The subquery needs one lookup in the primary key of `delivery` for each device.
        let sql = "SELECT min((SELECT min(position) FROM delivery WHERE device = device.id)),
            (SELECT page_count * page_size FROM pragma_page_count, pragma_page_size)
            FROM device WHERE frames > 0";
        let mut statement = self.0.prepare_cached(sql)?;
        let state = statement.query_row([], |row| {
            let oldest = row.get::<_, Option<i64>>(0)?.map(|_| unsigned(row, 0)).transpose()?;
            Ok(StoreState { oldest, bytes: unsigned(row, 1)? })
        });
        Ok(state?)
    }
}

struct Write<'c>(Transaction<'c>);

impl HubTransaction for Write<'_> {
    fn probe(&mut self) -> Result<(), StorageError> {
        Ok(self.0.pragma_update(None, "user_version", VERSION)?)
    }

    fn noted_time(&mut self) -> Result<u64, StorageError> {
        let sql = "SELECT value FROM meta WHERE name = 'time'";
        let mut statement = self.0.prepare_cached(sql)?;
        let noted = statement.query_row([], |row| bytes(row, 0)).optional()?;
        Ok(noted.map_or(0, u64::from_le_bytes))
    }

    fn note_time(&mut self, time: u64) -> Result<(), StorageError> {
        let sql = "INSERT OR REPLACE INTO meta (name, value) VALUES ('time', ?)";
        self.0.prepare_cached(sql)?.execute(params![&time.to_le_bytes()[..]])?;
        Ok(())
    }

    fn add_message(
        &mut self,
        sender: DeviceRow,
        mailboxes: usize,
        frame: &[u8],
    ) -> Result<i64, StorageError> {
        let sql = "INSERT INTO message (sender, mailboxes, frame) VALUES (?, ?, ?)";
        let mut statement = self.0.prepare_cached(sql)?;
        statement.execute(params![sender.0, signed(mailboxes as u64), frame])?;
        Ok(self.0.last_insert_rowid())
    }

    fn add_delivery(
        &mut self,
        device: DeviceRow,
        position: u64,
        message: i64,
        slot: &[u8],
    ) -> Result<(), StorageError> {
        let sql = "INSERT INTO delivery (device, position, message, slot) VALUES (?, ?, ?, ?)";
        let mut statement = self.0.prepare_cached(sql)?;
        statement.execute(params![device.0, signed(position), message, slot])?;
        Ok(())
    }

    fn note_put(
        &mut self,
        device: DeviceRow,
        sequence: u64,
        digest: &[u8; 16],
    ) -> Result<(), StorageError> {
        let sql = "INSERT INTO put (device, slot, digest) VALUES (?, ?, ?)
            ON CONFLICT DO UPDATE SET digest = excluded.digest";
        let slot = put_slot(sequence);
        self.0.prepare_cached(sql)?.execute(params![device.0, slot, &digest[..]])?;
        Ok(())
    }

    fn noted_put(
        &mut self,
        device: DeviceRow,
        sequence: u64,
    ) -> Result<Option<[u8; 16]>, StorageError> {
        let sql = "SELECT digest FROM put WHERE device = ? AND slot = ?";
        let slot = put_slot(sequence);
        let mut statement = self.0.prepare_cached(sql)?;
        Ok(statement.query_row(params![device.0, slot], |row| bytes(row, 0)).optional()?)
    }

    fn delete_deliveries(
        &mut self,
        device: DeviceRow,
        up_to: u64,
    ) -> Result<Deleted, StorageError> {
        let mut statement = self.0.prepare_cached(
            "SELECT position, sender, length(slot) + length(frame)
                FROM delivery JOIN message ON message.id = message
                WHERE device = ? AND position <= ? ORDER BY position",
        )?;
        let mut rows = statement.query(params![device.0, signed(up_to)])?;
        let (mut senders, mut position) = (HashMap::<i64, (u64, u64)>::new(), 0);
        let (mut frames, mut total, mut is_all) = (0, 0, true);
        while let Some(row) = rows.next()? {
            if frames == DELETED_FRAMES || total >= DELETED_BYTES {
                is_all = false;
                break;
            }
            position = unsigned(row, 0)?;
            let length = unsigned(row, 2)?;
            (frames, total) = (frames + 1, total + length);
            let share = senders.entry(row.get(1)?).or_default();
            *share = (share.0 + 1, share.1 + length);
        }
        drop(rows);
        let mut shares = Vec::with_capacity(senders.len());
        for (sender, (frames, bytes_of)) in senders {
            let sql = "SELECT peer FROM device WHERE id = ?";
            let mut statement = self.0.prepare_cached(sql)?;
            let peer = statement.query_row(params![sender], |row| bytes(row, 0))?;
            shares.push(Share { sender: PeerId::from_bytes(&peer), frames, bytes: bytes_of });
        }
        if frames == 0 {
            return Ok(Deleted { shares, position, is_all });
        }
        let range = params![device.0, signed(position)];
        // Most messages are in one mailbox only.
        for sql in [
            "DELETE FROM message WHERE mailboxes <= 1 AND id IN
                (SELECT message FROM delivery WHERE device = ? AND position <= ?)",
            "UPDATE message SET mailboxes = mailboxes - 1 WHERE id IN
                (SELECT message FROM delivery WHERE device = ? AND position <= ?)",
            "DELETE FROM delivery WHERE device = ? AND position <= ?",
        ] {
            self.0.prepare_cached(sql)?.execute(range)?;
        }
        Ok(Deleted { shares, position, is_all })
    }

    fn add_device(
        &mut self,
        peer: &PeerId,
        identity: &[u8; 32],
        certificate: &[u8],
        invitation: &str,
    ) -> Result<DeviceRow, StorageError> {
        let sql =
            "INSERT INTO device (peer, identity, certificate, invitation, revoked, pending, last,
            gap_count, gap_position, frames, bytes, acknowledged, published, dropped)
            VALUES (?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)";
        let mut statement = self.0.prepare_cached(sql)?;
        statement.execute(params![&peer.as_bytes()[..], &identity[..], certificate, invitation])?;
        Ok(DeviceRow(self.0.last_insert_rowid()))
    }

    fn update_device(&mut self, device: &DeviceState) -> Result<(), StorageError> {
        let sql = "UPDATE device SET identity = ?, certificate = ?, invitation = ?,
            revoked = revoked OR ?, pending = ?, seen = ?, last = ?,
            gap_count = ?, gap_position = ?, frames = ?, bytes = ?, acknowledged = ?, published = ?,
            dropped = ? WHERE id = ?";
        let seen = device.window.to_bytes();
        let mut statement = self.0.prepare_cached(sql)?;
        statement.execute(params![
            &device.identity[..],
            device.certificate,
            device.invitation,
            device.is_revoked,
            device.is_pending,
            seen.as_ref().map(|seen| &seen[..]),
            signed(device.last),
            signed(device.gap.0),
            signed(device.gap.1),
            signed(device.frames),
            signed(device.bytes),
            signed(device.acknowledged),
            signed(device.published),
            signed(device.dropped),
            device.row.0,
        ])?;
        Ok(())
    }

    fn revoke_device(&mut self, device: DeviceRow) -> Result<(), StorageError> {
        self.clear_device(device)?;
        let sql = "UPDATE device SET revoked = 1 WHERE id = ?";
        self.0.prepare_cached(sql)?.execute(params![device.0])?;
        Ok(())
    }

    fn admit_device(&mut self, device: DeviceRow) -> Result<(), StorageError> {
        let sql = "UPDATE device SET revoked = 0 WHERE id = ? AND pending = 1";
        self.0.prepare_cached(sql)?.execute(params![device.0])?;
        Ok(())
    }

    fn set_removed(&mut self, identity: &[u8; 32], is_removed: bool) -> Result<(), StorageError> {
        let sql = "UPDATE person SET removed = ? WHERE identity = ?";
        self.0.prepare_cached(sql)?.execute(params![is_removed, &identity[..]])?;
        Ok(())
    }

    fn is_removed(&mut self, identity: &[u8; 32]) -> Result<bool, StorageError> {
        let sql = "SELECT removed FROM person WHERE identity = ?";
        let mut statement = self.0.prepare_cached(sql)?;
        let removed = statement.query_row(params![&identity[..]], |row| row.get(0)).optional()?;
        Ok(removed.unwrap_or_default())
    }

    fn revoke_invitations(&mut self, name: &str) -> Result<usize, StorageError> {
        let sql = "DELETE FROM invitation WHERE name = ? AND uses > 0";
        Ok(self.0.prepare_cached(sql)?.execute(params![name])?)
    }

    fn person(&mut self, identity: &[u8; 32]) -> Result<Option<Vec<u8>>, StorageError> {
        let mut statement =
            self.0.prepare_cached("SELECT record FROM person WHERE identity = ?")?;
        Ok(statement.query_row(params![&identity[..]], |row| row.get(0)).optional()?)
    }

    fn put_person(&mut self, identity: &[u8; 32], record: &[u8]) -> Result<(), StorageError> {
        let sql = "INSERT INTO person (identity, record) VALUES (?, ?)
            ON CONFLICT DO UPDATE SET record = excluded.record";
        self.0.prepare_cached(sql)?.execute(params![&identity[..], record])?;
        Ok(())
    }

    fn add_invitation(
        &mut self,
        token: &[u8; 32],
        name: &str,
        expires: u64,
        uses: u32,
    ) -> Result<(), StorageError> {
        let sql = "INSERT INTO invitation (token, name, expires, uses) VALUES (?, ?, ?, ?)";
        self.0.prepare_cached(sql)?.execute(params![&token[..], name, signed(expires), uses])?;
        Ok(())
    }

    fn use_invitation(
        &mut self,
        token: &[u8; 32],
        now: u64,
    ) -> Result<Option<String>, StorageError> {
        let sql = "UPDATE invitation SET uses = uses - 1
            WHERE token = ? AND expires > ? AND uses > 0 RETURNING name";
        let mut statement = self.0.prepare_cached(sql)?;
        Ok(statement.query_row(params![&token[..], signed(now)], |row| row.get(0)).optional()?)
    }

    fn add_bundle(
        &mut self,
        device: DeviceRow,
        is_one_time: bool,
        bundle: &[u8],
    ) -> Result<(), StorageError> {
        if !is_one_time {
            let sql = "DELETE FROM prekey WHERE device = ? AND one_time = 0";
            self.0.prepare_cached(sql)?.execute(params![device.0])?;
        }
        let sql = "INSERT INTO prekey (device, one_time, bundle) SELECT ?1, ?2, ?3
            WHERE NOT EXISTS (SELECT 1 FROM given WHERE device = ?1 AND digest = ?4)
            ON CONFLICT DO NOTHING";
        let digest = short_digest(bundle);
        self.0.prepare_cached(sql)?.execute(params![device.0, is_one_time, bundle, digest])?;
        Ok(())
    }

    fn delete_one_time_bundles(&mut self, device: DeviceRow) -> Result<(), StorageError> {
        let sql = "DELETE FROM prekey WHERE device = ? AND one_time = 1";
        self.0.prepare_cached(sql)?.execute(params![device.0])?;
        Ok(())
    }

    fn one_time_bundles(&mut self, device: DeviceRow) -> Result<u64, StorageError> {
        let sql = "SELECT count(*) FROM prekey WHERE device = ? AND one_time = 1";
        let mut statement = self.0.prepare_cached(sql)?;
        Ok(statement.query_row(params![device.0], |row| unsigned(row, 0))?)
    }

    fn take_bundle(
        &mut self,
        device: DeviceRow,
        asker: DeviceRow,
        since: u64,
        now: u64,
    ) -> Result<Option<Vec<u8>>, StorageError> {
        let sql = "SELECT count(*) FROM taken WHERE device = ? AND asker = ? AND time > ?";
        let mut statement = self.0.prepare_cached(sql)?;
        let times: i64 =
            statement.query_row(params![device.0, asker.0, signed(since)], |row| row.get(0))?;
        if times == 0 {
            let sql = "DELETE FROM prekey WHERE id =
                (SELECT min(id) FROM prekey WHERE device = ? AND one_time = 1) RETURNING bundle";
            let mut statement = self.0.prepare_cached(sql)?;
            let bundle: Option<Vec<u8>> =
                statement.query_row(params![device.0], |row| row.get(0)).optional()?;
            if let Some(bundle) = bundle {
                let sql = "INSERT OR IGNORE INTO given (device, digest) VALUES (?, ?)";
                let mut statement = self.0.prepare_cached(sql)?;
                statement.execute(params![device.0, short_digest(&bundle)])?;
                let sql = "INSERT INTO taken (device, asker, time) VALUES (?, ?, ?)
                    ON CONFLICT DO UPDATE SET time = excluded.time";
                let mut statement = self.0.prepare_cached(sql)?;
                statement.execute(params![device.0, asker.0, signed(now)])?;
                return Ok(Some(bundle));
            }
        }
        let sql = "SELECT bundle FROM prekey WHERE device = ? AND one_time = 0";
        let mut statement = self.0.prepare_cached(sql)?;
        Ok(statement.query_row(params![device.0], |row| row.get(0)).optional()?)
    }

    fn clear_device(&mut self, device: DeviceRow) -> Result<(), StorageError> {
        for sql in [
            "DELETE FROM prekey WHERE device = ?1",
            "DELETE FROM given WHERE device = ?1",
            "DELETE FROM taken WHERE device = ?1 OR asker = ?1",
            "DELETE FROM put WHERE device = ?1",
        ] {
            self.0.prepare_cached(sql)?.execute(params![device.0])?;
        }
        Ok(())
    }
}

/// Slot of a sequence in the table `put`. A window holds the highest sequence and `SIZE` below it,
/// of which no two share a slot.
fn put_slot(sequence: u64) -> i64 {
    signed(sequence % (ReplayWindow::SIZE + 1))
}

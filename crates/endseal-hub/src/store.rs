//! The storage of a hub.

mod migration;
#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;

pub use migration::{Cell, ColumnType, Importer, Migrations, Table, migrate};

#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use sqlite::SqliteStore;

use core::{error, fmt};

use endseal_codec::frame::ReplayWindow;
use endseal_crypto::peer_id::PeerId;

/// The number of a device in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceRow(pub(crate) i64);

/// A device and its mailbox, as the database stores them.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "columns of a table, for stores of others")]
pub struct DeviceState {
    /// The number of the device.
    pub row: DeviceRow,
    /// The peer id of the device.
    pub peer: PeerId,
    /// The Ed25519 public key of the person's identity.
    pub identity: [u8; 32],
    /// The certificate of the device.
    pub certificate: Vec<u8>,
    /// The name of the invitation with which it registered; empty if it had none.
    pub invitation: String,
    /// True if the person record no longer contains the device.
    pub is_revoked: bool,
    /// True if another device of the person has registered it, and it has not done so itself: its
    /// key is not proved. Such a device that is revoked counts as unknown.
    pub is_pending: bool,
    /// The sequence numbers of the frames that the device has put.
    pub window: ReplayWindow,
    /// The position of the last frame that was added to the mailbox.
    pub last: u64,
    /// The number of frames that expired, and the position of the last of them; 0 for none.
    pub gap: (u64, u64),
    /// The number of frames in the mailbox.
    pub frames: u64,
    /// The bytes of frames and slots in the mailbox.
    pub bytes: u64,
    /// Highest position that the device acknowledged and for which frames were deleted.
    pub acknowledged: u64,
    /// Prekey bundles that were accepted from the device in all.
    pub published: u64,
    /// Frames of the device that were deleted before their receivers acknowledged them.
    pub dropped: u64,
}

/// A frame in a mailbox.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "columns of a table, for stores of others")]
pub struct Delivery {
    /// The position of the frame.
    pub position: u64,
    /// The slot of the receiver, or empty.
    pub slot: Vec<u8>,
    /// The stored frame.
    pub frame: Vec<u8>,
}

/// A device, with what waits for it.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "rows of tables, for stores of others")]
pub struct Mailbox {
    /// The device.
    pub state: DeviceState,
    /// Frames and bytes that wait, by the identities of their senders.
    pub shares: Vec<([u8; 32], u64, u64)>,
}

/// A change of what a person has waiting in a mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "columns of a table, for stores of others")]
pub struct ShareChange {
    /// The device of the mailbox.
    pub device: DeviceRow,
    /// The identity of the sender.
    pub sender: [u8; 32],
    /// Frames that were added, less those that were deleted.
    pub frames: i64,
    /// Bytes that were added, less those that were deleted.
    pub bytes: i64,
}

/// A mailbox with frames that are to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "columns of a table, for stores of others")]
pub struct Outdated {
    /// The device of the mailbox.
    pub peer: PeerId,
    /// True if the device is revoked, so that all of its frames are to be deleted.
    pub is_revoked: bool,
    /// The position of the last frame in the mailbox.
    pub last: u64,
}

/// Frames of one sender that were deleted from a mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "columns of a table, for stores of others")]
pub struct DeletedShare {
    /// The device that put the frames.
    pub sender: PeerId,
    /// The identity of its person.
    pub identity: [u8; 32],
    /// The number of frames.
    pub frames: u64,
    /// The bytes of frames and slots.
    pub bytes: u64,
}

/// The frames that were deleted from a mailbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "columns of a table, for stores of others")]
pub struct Deleted {
    /// The deleted frames, by their senders.
    pub shares: Vec<DeletedShare>,
    /// The position of the last deleted frame.
    pub position: u64,
    /// True if no frame up to the wanted position is left.
    pub is_all: bool,
}

/// Space that a store uses, and that it can still use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "figures that stores of others have")]
pub struct Space {
    /// Bytes of the database that hold rows.
    pub used: u64,
    /// Bytes of the database that hold none and are not given back to the file system yet.
    pub unused: u64,
    /// Bytes that the file system has left for it.
    pub free: u64,
}

/// An invitation with which devices can register.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "columns of a table, for stores of others")]
pub struct OpenInvitation {
    /// Its name.
    pub name: String,
    /// The time at which it expires, in microseconds since 1970.
    pub expires: u64,
    /// The number of devices that can still register with it.
    pub uses: u32,
}

/// Figures about a store, for its metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "figures that stores of others have")]
pub struct StoreState {
    /// The position of the oldest frame in any mailbox. A position is never less than the time at
    /// which its frame arrived.
    pub oldest: Option<u64>,
    /// The number of frames in all mailboxes.
    pub frames: u64,
    /// The bytes of those frames and their slots.
    pub waiting: u64,
    /// The length of the database in bytes.
    pub bytes: u64,
}

/// Receives the devices whose mailboxes or registrations another process has changed.
pub type ChangeListener = Box<dyn Fn(&[DeviceRow]) + Send>;

/// The database of a hub. Times are microseconds since 1970.
///
/// A process has one writer. If several processes have one database, a transaction locks the
/// devices and persons that it reads, and the store repeats it when two have met.
pub trait HubStore: Send + 'static {
    /// Reads all devices.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be read.
    fn devices(&mut self) -> Result<Vec<DeviceState>, StorageError>;

    /// Runs `work` in one transaction and makes it durable. `work` may run several times; what an
    /// earlier run did is taken back. After an error, none of its changes are stored, unless the
    /// connection to the database broke while it was committed.
    ///
    /// # Errors
    /// [`StorageError`] if `work` returns one or the commit fails.
    fn transact(
        &mut self,
        work: &mut dyn FnMut(&mut dyn HubTransaction) -> Result<(), StorageError>,
    ) -> Result<(), StorageError>;

    /// Returns true if another process may have changed the store since the last call.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be read.
    fn was_changed(&mut self) -> Result<bool, StorageError>;

    /// Returns true if several processes may serve before the store.
    fn is_shared(&self) -> bool {
        false
    }

    /// Returns the invitations that have uses left, ordered by name.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be read.
    fn invitations(&mut self) -> Result<Vec<OpenInvitation>, StorageError>;

    /// Returns the bytes that wait in all mailboxes, by the identities of their senders.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be read.
    fn totals(&mut self) -> Result<Vec<([u8; 32], u64)>, StorageError>;

    /// Compares counts and references of all rows. Returns a description of each fault.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be read.
    fn check(&mut self) -> Result<Vec<String>, StorageError>;

    /// Calls `listener` for the devices that other processes [announce](Self::announce), as far as
    /// the database can tell, from another thread. A call can get lost.
    ///
    /// # Errors
    /// [`StorageError`] if the thread cannot be started.
    fn listen(&mut self, _listener: ChangeListener) -> Result<(), StorageError> {
        Ok(())
    }

    /// Tells other processes of devices that were changed. Does not wait.
    fn announce(&mut self, _devices: &[DeviceRow]) {}

    /// Returns the space that is used and left.
    ///
    /// # Errors
    /// [`StorageError`] if it cannot be determined.
    fn space(&mut self) -> Result<Space, StorageError>;

    /// Gives some unused space back to the file system: little enough that the writer does not
    /// notice.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn shrink(&mut self) -> Result<(), StorageError>;

    /// Reads all rows of a table, with the columns that [`Table::columns`] names.
    ///
    /// # Errors
    /// [`StorageError`] if the table cannot be read, and the error of `each`.
    fn export(
        &mut self,
        table: &Table,
        each: &mut dyn FnMut(Vec<Cell>) -> Result<(), StorageError>,
    ) -> Result<(), StorageError>;

    /// Fills the tables of an empty database in one transaction, which notes the token. `fill` is
    /// called once; it writes the rows of one table after the other.
    ///
    /// # Errors
    /// [`StorageError`] if the database has rows, and if it cannot be written; also the error of
    /// `fill`.
    fn import(
        &mut self,
        token: &[u8; 16],
        fill: &mut dyn FnMut(&mut dyn Importer) -> Result<(), StorageError>,
    ) -> Result<(), StorageError>;

    /// Returns the tokens of the migrations from and to this database.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be read.
    fn migrations(&mut self) -> Result<Migrations, StorageError>;

    /// Returns true if the database was copied to another one, so that no hub may serve from it.
    fn is_retired(&self) -> bool;

    /// Marks the database as one that was copied to another one, so that no hub serves from it.
    ///
    /// # Errors
    /// [`StorageError`] if a hub serves from it, or it cannot be written.
    fn retire(&mut self, token: &[u8; 16]) -> Result<(), StorageError>;

    /// Opens another connection, which reads while the writer works.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be opened.
    fn reader(&self) -> Result<Box<dyn HubReader>, StorageError>;
}

/// Reads mailboxes while others are written.
pub trait HubReader: Send {
    /// Returns the frames of a mailbox after a position, in order. Returns at most `frames` frames,
    /// and stops after the frame with which their total length reaches `bytes`.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be read.
    fn deliveries(
        &mut self,
        device: DeviceRow,
        after: u64,
        frames: u64,
        bytes: u64,
    ) -> Result<Vec<Delivery>, StorageError>;

    /// Returns the devices among these peers that the store knows.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be read.
    fn devices(&mut self, peers: &[PeerId]) -> Result<Vec<DeviceState>, StorageError>;

    /// Returns figures for the metrics.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be read.
    fn state(&mut self) -> Result<StoreState, StorageError>;
}

/// Names in the table `meta`: the time of the expiry clock, and the peer id of the hub.
const TIME: &str = "time";
const HUB: &str = "hub";

/// Changes that become durable together.
pub trait HubTransaction {
    /// Rewrites a page without changing it, so that the commit fails if the database cannot be
    /// written.
    ///
    /// # Errors
    /// [`StorageError`] if the page cannot be written now.
    fn probe(&mut self) -> Result<(), StorageError>;

    /// Keeps other transactions from reading and changing the person records of these identities
    /// until this one ends.
    ///
    /// # Errors
    /// [`StorageError`] if the lock cannot be had.
    fn lock_persons(&mut self, identities: &[[u8; 32]]) -> Result<(), StorageError>;

    /// Returns the devices among these peers that the store knows, and keeps other transactions from
    /// changing them until this one ends.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be read.
    fn mailboxes(&mut self, peers: &[PeerId]) -> Result<Vec<Mailbox>, StorageError>;

    /// Returns the devices that an identity has or had.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be read.
    fn devices_of(&mut self, identity: &[u8; 32]) -> Result<Vec<DeviceState>, StorageError>;

    /// Returns the mailboxes with frames up to this position, and those of revoked devices with
    /// frames.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be read.
    fn outdated(&mut self, before: u64) -> Result<Vec<Outdated>, StorageError>;

    /// Changes what persons have waiting in mailboxes.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn change_shares(&mut self, changes: &[ShareChange]) -> Result<(), StorageError>;

    /// Returns a value of the table `meta`. `None` if there is none of this name.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be read.
    fn meta(&mut self, name: &str) -> Result<Option<Vec<u8>>, StorageError>;

    /// Writes a value of the table `meta`.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn set_meta(&mut self, name: &str, value: &[u8]) -> Result<(), StorageError>;

    /// Returns the latest time that was noted with [`Self::note_time`]; 0 if there is none.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be read.
    fn noted_time(&mut self) -> Result<u64, StorageError> {
        let Some(value) = self.meta(TIME)? else { return Ok(0) };
        let value = value.try_into();
        let value = value.map_err(|_| StorageError::Format("its time cannot be read"))?;
        Ok(u64::from_le_bytes(value))
    }

    /// Notes the time up to which the hub trusts the clock.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn note_time(&mut self, time: u64) -> Result<(), StorageError> {
        self.set_meta(TIME, &time.to_le_bytes())
    }

    /// Makes this the database of the hub with a peer id, unless it is that of another hub.
    ///
    /// # Errors
    /// [`StorageError::OtherHub`] if it is, and [`StorageError`] if it cannot be read or written.
    fn claim(&mut self, hub: &PeerId) -> Result<(), StorageError> {
        match self.meta(HUB)? {
            Some(owner) if owner == hub.as_bytes() => Ok(()),
            Some(_) => Err(StorageError::OtherHub),
            None => self.set_meta(HUB, hub.as_bytes()),
        }
    }

    /// Adds a message of a sender that will be delivered to this number of mailboxes. Returns its
    /// number.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn add_message(
        &mut self,
        sender: DeviceRow,
        mailboxes: usize,
        frame: &[u8],
    ) -> Result<i64, StorageError>;

    /// Delivers a message to a mailbox.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn add_delivery(
        &mut self,
        device: DeviceRow,
        position: u64,
        message: i64,
        slot: &[u8],
    ) -> Result<(), StorageError>;

    /// Notes the digest of a frame that a device put, in the place of the one that left
    /// its window.
    ///
    /// # Errors
    /// [`StorageError`].
    fn note_put(
        &mut self,
        device: DeviceRow,
        sequence: u64,
        digest: &[u8; 16],
    ) -> Result<(), StorageError>;

    /// Returns the digest of the frame that a device put under a sequence of its window. `None` if
    /// none is noted.
    ///
    /// # Errors
    /// [`StorageError`].
    fn noted_put(
        &mut self,
        device: DeviceRow,
        sequence: u64,
    ) -> Result<Option<[u8; 16]>, StorageError>;

    /// Deletes frames of a mailbox up to a position, the oldest first, and messages that are in no
    /// other one. Stops after some MiB, so that the transaction stays small.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn delete_deliveries(&mut self, device: DeviceRow, up_to: u64)
    -> Result<Deleted, StorageError>;

    /// Adds a device with an empty mailbox, which registered with the invitation of this name.
    /// Returns its number.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn add_device(
        &mut self,
        peer: &PeerId,
        identity: &[u8; 32],
        certificate: &[u8],
        invitation: &str,
    ) -> Result<DeviceRow, StorageError>;

    /// Writes all fields of a device except its peer id. A device that is revoked stays so, as
    /// another process may have revoked it since.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn update_device(&mut self, device: &DeviceState) -> Result<(), StorageError>;

    /// Revokes a device at once, whatever its person record says. The frames that wait for it are
    /// deleted by the hub.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn revoke_device(&mut self, device: DeviceRow) -> Result<(), StorageError>;

    /// Admits a device again that never proved its key, and was revoked.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn admit_device(&mut self, device: DeviceRow) -> Result<(), StorageError>;

    /// Notes that a person was removed, or that an invitation has brought it back.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn set_removed(&mut self, identity: &[u8; 32], is_removed: bool) -> Result<(), StorageError>;

    /// Returns true if a person was removed.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be read.
    fn is_removed(&mut self, identity: &[u8; 32]) -> Result<bool, StorageError>;

    /// Deletes the invitations of a name. Returns their number.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn revoke_invitations(&mut self, name: &str) -> Result<usize, StorageError>;

    /// Returns the person record of an identity.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be read.
    fn person(&mut self, identity: &[u8; 32]) -> Result<Option<Vec<u8>>, StorageError>;

    /// Writes the person record of an identity.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn put_person(&mut self, identity: &[u8; 32], record: &[u8]) -> Result<(), StorageError>;

    /// Adds an invitation, identified by the digest of its token.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn add_invitation(
        &mut self,
        token: &[u8; 32],
        name: &str,
        expires: u64,
        uses: u32,
    ) -> Result<(), StorageError>;

    /// Uses an invitation once, and returns its name. `None` if the invitation does not exist, has
    /// expired or is used up.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn use_invitation(
        &mut self,
        token: &[u8; 32],
        now: u64,
    ) -> Result<Option<String>, StorageError>;

    /// Adds a prekey bundle, unless it is stored already or was handed out before. A fallback
    /// bundle replaces the earlier fallback.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn add_bundle(
        &mut self,
        device: DeviceRow,
        is_one_time: bool,
        bundle: &[u8],
    ) -> Result<(), StorageError>;

    /// Deletes the one-time bundles of a device.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn delete_one_time_bundles(&mut self, device: DeviceRow) -> Result<(), StorageError>;

    /// Returns the number of one-time bundles of a device.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be read.
    fn one_time_bundles(&mut self, device: DeviceRow) -> Result<u64, StorageError>;

    /// Returns a bundle of a device for an asker. If the asker has received no one-time bundle of
    /// this device since `since`, it gets one, which is deleted. Otherwise, or if none is left, it
    /// gets the fallback bundle, if there is one.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn take_bundle(
        &mut self,
        device: DeviceRow,
        asker: DeviceRow,
        since: u64,
        now: u64,
    ) -> Result<Option<Vec<u8>>, StorageError>;

    /// Deletes what is stored about a revoked device besides its mailbox and its row: its bundles,
    /// the records of bundles that were handed out to it or of it, and the digests of its frames.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn clear_device(&mut self, device: DeviceRow) -> Result<(), StorageError>;
}

/// Queries that count violations of an invariant. Each count must be 0. Both engines run them.
const CHECKS: [(&str, &str); 5] = [
    (
        "SELECT count(*) FROM delivery WHERE message NOT IN (SELECT id FROM message)
            OR device NOT IN (SELECT id FROM device)",
        "deliveries without a message or a device",
    ),
    (
        "SELECT count(*) FROM message LEFT JOIN
            (SELECT message AS held, count(*) AS times FROM delivery GROUP BY message) AS counts
            ON held = id WHERE mailboxes <> coalesce(times, 0)",
        "messages with a wrong number of mailboxes",
    ),
    (
        "SELECT count(*) FROM device LEFT JOIN
            (SELECT device AS held, count(*) AS times FROM delivery GROUP BY device) AS counts
            ON held = id WHERE frames <> coalesce(times, 0)",
        "mailboxes with a wrong number of frames",
    ),
    (
        "SELECT count(*) FROM device WHERE identity NOT IN (SELECT identity FROM person)",
        "devices without a person",
    ),
    (
        "SELECT count(*) FROM (SELECT delivery.device AS mailbox, identity, count(*) AS times
                FROM delivery JOIN message ON message.id = delivery.message
                JOIN device ON device.id = message.sender GROUP BY delivery.device, identity
            ) AS counts FULL JOIN share ON share.device = mailbox AND share.sender = identity
            WHERE coalesce(share.frames, 0) <> coalesce(times, 0)",
        "wrong shares of senders in mailboxes",
    ),
];

/// The error of a storage operation.
#[derive(Debug)]
#[non_exhaustive]
pub enum StorageError {
    /// The disk is full.
    Full,
    /// It is not the database of a hub, or has another version.
    Format(&'static str),
    /// It was copied to another database (`endseal hub migrate`), from which the hub serves.
    Retired,
    /// It is the database of a hub with another key.
    OtherHub,
    /// A migration is not possible for this reason.
    Migration(&'static str),
    /// The transaction has met another one, and can be repeated.
    Conflict,
    /// The database failed for another reason.
    Database(Box<dyn error::Error + Send + Sync>),
}

impl From<rusqlite::Error> for StorageError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::Full,
            _ => Self::Database(Box::new(error)),
        }
    }
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the disk is full"),
            Self::Format(cause) => write!(f, "it is not the database of a hub: {cause}"),
            Self::Retired => f.write_str("it was moved to another database"),
            Self::OtherHub => f.write_str("it belongs to a hub with another key"),
            Self::Migration(cause) => f.write_str(cause),
            Self::Conflict => f.write_str("other transactions were faster each time"),
            Self::Database(error) => {
                write!(f, "the database failed: {error}")?;
                let mut source = error.source();
                while let Some(cause) = source {
                    write!(f, ": {cause}")?;
                    source = cause.source();
                }
                Ok(())
            }
        }
    }
}

impl error::Error for StorageError {}

fn signed(number: u64) -> i64 {
    // Numbers are positions in microseconds and lengths of data in memory, all far below 2^63.
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Slot of a sequence in the table `put`. A window holds the highest sequence and `SIZE` below it,
/// of which no two share a slot.
fn put_slot(sequence: u64) -> i64 {
    signed(sequence % (ReplayWindow::SIZE + 1))
}

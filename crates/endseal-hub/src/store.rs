//! Storage of a hub.

mod sqlite;

pub use sqlite::SqliteStore;

use core::{error, fmt};

use endseal_codec::frame::ReplayWindow;
use endseal_crypto::peer_id::PeerId;

/// Number of a device in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceRow(pub(crate) i64);

/// A device and its mailbox, as it is stored.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "columns of a table, for stores of others")]
pub struct DeviceState {
    /// Its number.
    pub row: DeviceRow,
    /// Peer id.
    pub peer: PeerId,
    /// Ed25519 public key of its identity.
    pub identity: [u8; 32],
    /// Its certificate.
    pub certificate: Vec<u8>,
    /// True if the person record does not have it any more.
    pub is_revoked: bool,
    /// Sequences that it put.
    pub window: ReplayWindow,
    /// Position of the last frame that came into the mailbox.
    pub last: u64,
    /// Number of frames that expired, and the position of the last of them; 0 for none.
    pub gap: (u64, u64),
    /// Frames in the mailbox.
    pub frames: u64,
    /// Bytes of frames and slots in the mailbox.
    pub bytes: u64,
}

/// A frame in a mailbox.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "columns of a table, for stores of others")]
pub struct Delivery {
    /// Its position.
    pub position: u64,
    /// Slot of the receiver, or empty.
    pub slot: Vec<u8>,
    /// The stored frame.
    pub frame: Vec<u8>,
}

/// Frames and bytes that were deleted from a mailbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "columns of a table, for stores of others")]
pub struct Deleted {
    /// Frames.
    pub frames: u64,
    /// Bytes of frames and slots.
    pub bytes: u64,
    /// Position of the last one.
    pub position: u64,
}

/// Figures of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "figures that stores of others have")]
pub struct StoreState {
    /// Position of the oldest frame in a mailbox; a position is at least the time at which its
    /// frame came.
    pub oldest: Option<u64>,
    /// Length of the database in bytes.
    pub bytes: u64,
}

/// Database of a hub, with one writer. Times are microseconds since 1970.
pub trait HubStore: Send + 'static {
    /// Reads all devices.
    ///
    /// # Errors
    /// [`StorageError`].
    fn devices(&mut self) -> Result<Vec<DeviceState>, StorageError>;

    /// Does `work` in one transaction, and makes it durable. Nothing of it is there after an error.
    ///
    /// # Errors
    /// [`StorageError`], of `work` or of the commit.
    fn transact(
        &mut self,
        work: &mut dyn FnMut(&mut dyn HubTransaction) -> Result<(), StorageError>,
    ) -> Result<(), StorageError>;

    /// Another connection, which reads beside the writer.
    ///
    /// # Errors
    /// [`StorageError`].
    fn reader(&self) -> Result<Box<dyn HubReader>, StorageError>;
}

/// Reads mailboxes while others are written.
pub trait HubReader: Send {
    /// Frames of a mailbox behind a position, in order: at most `frames`, and no more after `bytes`
    /// of them are exceeded.
    ///
    /// # Errors
    /// [`StorageError`].
    fn deliveries(
        &mut self,
        device: DeviceRow,
        after: u64,
        frames: u64,
        bytes: u64,
    ) -> Result<Vec<Delivery>, StorageError>;

    /// Figures for operators.
    ///
    /// # Errors
    /// [`StorageError`].
    fn state(&mut self) -> Result<StoreState, StorageError>;
}

/// Changes that become durable together.
pub trait HubTransaction {
    /// Writes a page as it is, so that the commit fails if the database cannot be written.
    ///
    /// # Errors
    /// [`StorageError`] if the page cannot be written now.
    fn probe(&mut self) -> Result<(), StorageError>;

    /// Adds a message that lies in some mailboxes. Returns its number.
    ///
    /// # Errors
    /// [`StorageError`].
    fn add_message(&mut self, mailboxes: usize, frame: &[u8]) -> Result<i64, StorageError>;

    /// Puts a message into a mailbox.
    ///
    /// # Errors
    /// [`StorageError`].
    fn add_delivery(
        &mut self,
        device: DeviceRow,
        position: u64,
        message: i64,
        slot: &[u8],
    ) -> Result<(), StorageError>;

    /// Deletes the frames of a mailbox up to a position, and messages that are in no other one.
    ///
    /// # Errors
    /// [`StorageError`].
    fn delete_deliveries(&mut self, device: DeviceRow, up_to: u64)
    -> Result<Deleted, StorageError>;

    /// Adds a device with an empty mailbox. Returns its number.
    ///
    /// # Errors
    /// [`StorageError`].
    fn add_device(
        &mut self,
        peer: &PeerId,
        identity: &[u8; 32],
        certificate: &[u8],
    ) -> Result<DeviceRow, StorageError>;

    /// Writes what changed of a device: all but its peer id and identity.
    ///
    /// # Errors
    /// [`StorageError`].
    fn update_device(&mut self, device: &DeviceState) -> Result<(), StorageError>;

    /// The person record of an identity.
    ///
    /// # Errors
    /// [`StorageError`].
    fn person(&mut self, identity: &[u8; 32]) -> Result<Option<Vec<u8>>, StorageError>;

    /// Writes the person record of an identity.
    ///
    /// # Errors
    /// [`StorageError`].
    fn put_person(&mut self, identity: &[u8; 32], record: &[u8]) -> Result<(), StorageError>;

    /// Adds an invitation by the digest of its token.
    ///
    /// # Errors
    /// [`StorageError`].
    fn add_invitation(
        &mut self,
        token: &[u8; 32],
        name: &str,
        expires: u64,
        uses: u32,
    ) -> Result<(), StorageError>;

    /// Uses an invitation once. Returns false if there is none, it is expired or used up.
    ///
    /// # Errors
    /// [`StorageError`].
    fn use_invitation(&mut self, token: &[u8; 32], now: u64) -> Result<bool, StorageError>;

    /// Adds a prekey bundle, unless it is there. A fallback takes the place of the one before.
    ///
    /// # Errors
    /// [`StorageError`].
    fn add_bundle(
        &mut self,
        device: DeviceRow,
        is_one_time: bool,
        bundle: &[u8],
    ) -> Result<(), StorageError>;

    /// Deletes the one-time bundles of a device.
    ///
    /// # Errors
    /// [`StorageError`].
    fn delete_one_time_bundles(&mut self, device: DeviceRow) -> Result<(), StorageError>;

    /// Number of one-time bundles of a device.
    ///
    /// # Errors
    /// [`StorageError`].
    fn one_time_bundles(&mut self, device: DeviceRow) -> Result<u64, StorageError>;

    /// Takes a bundle of a device for an asker: a one-time bundle, which is gone then, if the asker
    /// got none since `since`; else the fallback, if there is one.
    ///
    /// # Errors
    /// [`StorageError`].
    fn take_bundle(
        &mut self,
        device: DeviceRow,
        asker: DeviceRow,
        since: u64,
        now: u64,
    ) -> Result<Option<Vec<u8>>, StorageError>;

    /// Deletes the bundles of a device.
    ///
    /// # Errors
    /// [`StorageError`].
    fn delete_bundles(&mut self, device: DeviceRow) -> Result<(), StorageError>;
}

/// The database does not do what it should.
#[derive(Debug)]
#[non_exhaustive]
pub enum StorageError {
    /// The medium is full.
    Full,
    /// It is not the database of a hub, or one of another version.
    Format(&'static str),
    /// Another failure.
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for StorageError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::Full,
            _ => Self::Database(error),
        }
    }
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the disk is full"),
            Self::Format(cause) => write!(f, "it is not the database of a hub: {cause}"),
            Self::Database(_) => f.write_str("the database fails"),
        }
    }
}

impl error::Error for StorageError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Database(error) => Some(error),
            Self::Full | Self::Format(_) => None,
        }
    }
}

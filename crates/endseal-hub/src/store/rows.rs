//! Rows of a hub's database, and figures about it.

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
    /// The bytes of frames in the mailbox.
    pub bytes: u64,
    /// Highest position that the device acknowledged and for which frames were deleted.
    pub acknowledged: u64,
    /// Prekeys that were accepted from the device in all.
    pub published: u64,
    /// Frames of the device that were deleted before their receivers acknowledged them.
    pub dropped: u64,
    /// The time of its last visit, to the hour.
    pub visited: u64,
}

/// The number of a group in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupRow(pub(crate) i64);

/// A group of a conversation, as the database stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "columns of a table, for stores of others")]
pub struct GroupState {
    /// The number of the group.
    pub row: GroupRow,
    /// The id of the group.
    pub id: [u8; 16],
    /// The identity of the person who made it.
    pub creator: [u8; 32],
    /// The number of its epoch.
    pub epoch: u64,
    /// The peer ids of its members, in ascending order.
    pub members: Vec<PeerId>,
}

/// Sums over the groups that a person has made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "figures that stores of others have")]
pub struct GroupTotals {
    /// The number of groups.
    pub groups: u64,
    /// The number of members in them. A device counts once for each group.
    pub members: u64,
}

/// A frame in a mailbox.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "columns of a table, for stores of others")]
pub struct Delivery {
    /// The position of the frame.
    pub position: u64,
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
    /// The bytes of these frames.
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
    /// Bytes of the database that hold rows. `None` if only what waits is known.
    pub used: Option<u64>,
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
    /// The bytes of those frames.
    pub waiting: u64,
    /// The length of the database in bytes.
    pub bytes: u64,
}

/// Receives the devices whose mailboxes or registrations another process has changed.
pub type ChangeListener = Box<dyn Fn(&[DeviceRow]) + Send>;

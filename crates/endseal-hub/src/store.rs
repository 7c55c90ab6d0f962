//! The storage of a hub.

mod error;
mod migration;
#[cfg(feature = "postgres")]
mod postgres;
mod quota;
mod rows;
mod sqlite;

pub use error::StorageError;
pub use migration::{Cell, ColumnType, Importer, Migrations, Table, migrate};
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use quota::Quota;
pub use rows::{
    ChangeListener, Deleted, DeletedShare, Delivery, DeviceRow, DeviceState, GroupRow, GroupState,
    GroupTotals, Mailbox, OpenInvitation, Outdated, ShareChange, Space, StoreState,
};
pub use sqlite::SqliteStore;

use endseal_codec::frame::ReplayWindow;
use endseal_crypto::peer_id::PeerId;

/// The database of a hub. Times are microseconds since 1970. All methods fail with [`StorageError`]
/// if the database cannot be read or written.
///
/// A process has one writer. If several processes have one database, a transaction locks the
/// devices and persons that it reads, and the store repeats it when two have met.
#[expect(clippy::missing_errors_doc, reason = "the same for all methods")]
pub trait HubStore: Send + 'static {
    /// Reads all devices.
    fn devices(&mut self) -> Result<Vec<DeviceState>, StorageError>;

    /// Runs `work` in one transaction and makes it durable. `work` may run several times; what an
    /// earlier run did is taken back. After an error, none of its changes are stored, unless the
    /// connection to the database broke while it was committed.
    fn transact(
        &mut self,
        work: &mut dyn FnMut(&mut dyn HubTransaction) -> Result<(), StorageError>,
    ) -> Result<(), StorageError>;

    /// Returns true if another process may have changed the store since the last call.
    fn was_changed(&mut self) -> Result<bool, StorageError>;

    /// Returns true if several processes may serve before the store.
    fn is_shared(&self) -> bool {
        false
    }

    /// Deletes what must not be used after a database was put back: one-time prekeys may have been
    /// given out since, and invitations used. Owners publish new prekeys with their next visit.
    /// Returns the numbers of deleted prekeys and invitations.
    fn forget_single_use(&mut self) -> Result<(u64, u64), StorageError>;

    /// Returns the invitations that have uses left, ordered by name.
    fn invitations(&mut self) -> Result<Vec<OpenInvitation>, StorageError>;

    /// Compares counts and references of all rows. Returns a description of each fault.
    fn check(&mut self) -> Result<Vec<String>, StorageError>;

    /// Calls `listener` for the devices that other processes [announce](Self::announce), as far as
    /// the database can tell, from another thread. A call can get lost.
    fn listen(&mut self, _listener: ChangeListener) -> Result<(), StorageError> {
        Ok(())
    }

    /// Tells other processes of devices that were changed. Does not wait.
    fn announce(&mut self, _devices: &[DeviceRow]) {}

    /// Returns the space that is used and left.
    fn space(&mut self) -> Result<Space, StorageError>;

    /// Gives some unused space back to the file system: little enough that the writer does not
    /// notice.
    fn shrink(&mut self) -> Result<(), StorageError>;

    /// Reads all rows of a table, with the columns that [`Table::columns`] names.
    fn export(
        &mut self,
        table: &Table,
        each: &mut dyn FnMut(Vec<Cell>) -> Result<(), StorageError>,
    ) -> Result<(), StorageError>;

    /// Fills the tables of an empty database in one transaction, which notes the token. `fill` is
    /// called once; it writes the rows of one table after the other.
    fn import(
        &mut self,
        token: &[u8; 16],
        fill: &mut dyn FnMut(&mut dyn Importer) -> Result<(), StorageError>,
    ) -> Result<(), StorageError>;

    /// Returns the tokens of the migrations from and to this database.
    fn migrations(&mut self) -> Result<Migrations, StorageError>;

    /// Returns true if the database was copied to another one, so that no hub may serve from it.
    fn is_retired(&self) -> bool;

    /// Marks the database as one that was copied to another one, so that no hub serves from it.
    fn retire(&mut self, token: &[u8; 16]) -> Result<(), StorageError>;

    /// Opens another connection, which reads while the writer works.
    fn reader(&self) -> Result<Box<dyn HubReader>, StorageError>;
}

/// Reads mailboxes while others are written. All methods fail with [`StorageError`] if the database
/// cannot be read.
#[expect(clippy::missing_errors_doc, reason = "the same for all methods")]
pub trait HubReader: Send {
    /// Returns the frames of a mailbox after a position, in order. Returns at most `frames` frames,
    /// and stops after the frame with which their total length reaches `bytes`.
    fn deliveries(
        &mut self,
        device: DeviceRow,
        after: u64,
        frames: u64,
        bytes: u64,
    ) -> Result<Vec<Delivery>, StorageError>;

    /// Returns the devices among these peers that the store knows.
    fn devices(&mut self, peers: &[PeerId]) -> Result<Vec<DeviceState>, StorageError>;

    /// Returns the bytes that wait in all mailboxes, by the identities of their senders.
    fn totals(&mut self) -> Result<Vec<([u8; 32], u64)>, StorageError>;

    /// Returns figures for the metrics.
    fn state(&mut self) -> Result<StoreState, StorageError>;
}

/// Names in the table `meta`: the time of the expiry clock, the peer id of the hub, the quotas of
/// persons, and the hub's address note.
const TIME: &str = "time";
const HUB: &str = "hub";
const QUOTAS: &str = "quotas";
const ADDRESS_NOTE: &str = "address note";

/// Changes that become durable together. All methods fail with [`StorageError`] if the database
/// cannot be read or written.
#[expect(clippy::missing_errors_doc, reason = "the same for all methods")]
pub trait HubTransaction {
    /// Rewrites a page without changing it, so that the commit fails if the database cannot be
    /// written.
    fn probe(&mut self) -> Result<(), StorageError>;

    /// Writes as much as a frame needs and deletes it, so that this or the commit fails if the
    /// database has no space for frames.
    fn probe_space(&mut self) -> Result<(), StorageError> {
        self.probe()
    }

    /// Keeps other transactions from reading and changing the person records of these identities
    /// until this one ends.
    fn lock_persons(&mut self, identities: &[[u8; 32]]) -> Result<(), StorageError>;

    /// Returns the devices among these peers that the store knows, and keeps other transactions
    /// from changing them until this one ends.
    fn mailboxes(&mut self, peers: &[PeerId]) -> Result<Vec<Mailbox>, StorageError>;

    /// Returns the devices that an identity has or had.
    fn devices_of(&mut self, identity: &[u8; 32]) -> Result<Vec<DeviceState>, StorageError>;

    /// Returns the mailboxes with frames up to this position, and those of revoked devices with
    /// frames. It reads the first frame of each mailbox.
    fn outdated(&mut self, before: u64) -> Result<Vec<Outdated>, StorageError>;

    /// Returns the mailboxes of revoked devices with frames. It reads revoked devices alone.
    fn revoked(&mut self) -> Result<Vec<Outdated>, StorageError>;

    /// Locks the messages that are delivered to these devices up to these positions, so that
    /// transactions of several processes which delete such frames lock them in one order.
    fn lock_messages(&mut self, _mailboxes: &[(DeviceRow, u64)]) -> Result<(), StorageError> {
        Ok(())
    }

    /// Changes what persons have waiting in mailboxes.
    fn change_shares(&mut self, changes: &[ShareChange]) -> Result<(), StorageError>;

    /// Returns a value of the table `meta`. `None` if there is none of this name.
    fn meta(&mut self, name: &str) -> Result<Option<Vec<u8>>, StorageError>;

    /// Writes a value of the table `meta`.
    fn set_meta(&mut self, name: &str, value: &[u8]) -> Result<(), StorageError>;

    /// Returns the latest time that was noted with [`Self::note_time`]; 0 if there is none.
    fn noted_time(&mut self) -> Result<u64, StorageError> {
        let Some(value) = self.meta(TIME)? else { return Ok(0) };
        let value = value.try_into();
        let value = value.map_err(|_| StorageError::Format("its time cannot be read"))?;
        Ok(u64::from_le_bytes(value))
    }

    /// Notes the time up to which the hub trusts the clock.
    fn note_time(&mut self, time: u64) -> Result<(), StorageError> {
        self.set_meta(TIME, &time.to_le_bytes())
    }

    /// Makes this the database of the hub with a peer id, unless it is that of another hub.
    fn claim(&mut self, hub: &PeerId) -> Result<(), StorageError> {
        // Locks a row, so that one of two hubs that start at once gets a new database.
        self.probe()?;
        match self.meta(HUB)? {
            Some(owner) if owner == hub.as_bytes() => Ok(()),
            Some(_) => Err(StorageError::OtherHub),
            None => self.set_meta(HUB, hub.as_bytes()),
        }
    }

    /// Returns the encoded address note of the hub.
    fn address_note(&mut self) -> Result<Option<Vec<u8>>, StorageError> {
        self.meta(ADDRESS_NOTE)
    }

    /// Replaces the address note of the hub, which its key must have signed.
    fn set_address_note(&mut self, note: &[u8]) -> Result<(), StorageError> {
        self.set_meta(ADDRESS_NOTE, note)
    }

    /// Returns the quotas of all persons that have one.
    fn quotas(&mut self) -> Result<Vec<([u8; 32], Quota)>, StorageError> {
        let value = self.meta(QUOTAS)?.unwrap_or_default();
        Quota::read_all(&value).ok_or(StorageError::Format("its quotas cannot be read"))
    }

    /// Replaces the quota of a person. The default removes it.
    fn set_quota(&mut self, identity: &[u8; 32], quota: Quota) -> Result<(), StorageError> {
        self.change_quota(identity, &|_| quota).map(|_| ())
    }

    /// Changes the quota of a person, which `change` gets as it is now. Returns the quotas of all
    /// persons.
    fn change_quota(
        &mut self,
        identity: &[u8; 32],
        change: &dyn Fn(Quota) -> Quota,
    ) -> Result<Vec<([u8; 32], Quota)>, StorageError> {
        // Locks a row, so that of two commands at once none undoes the other.
        self.probe()?;
        let mut quotas = self.quotas()?;
        let before = quotas.iter().find(|(of, _)| of == identity).map(|it| it.1);
        let quota = change(before.unwrap_or_default());
        quotas.retain(|(of, _)| of != identity);
        if quota != Quota::default() {
            quotas.push((*identity, quota));
        }
        self.set_meta(QUOTAS, &Quota::write_all(&quotas))?;
        Ok(quotas)
    }

    /// Returns the groups with these ids that the store knows, and keeps other transactions from
    /// changing them until this one ends.
    fn groups(&mut self, ids: &[[u8; 16]]) -> Result<Vec<GroupState>, StorageError>;

    /// Returns the number of groups that a person has made, and of the members in them.
    fn groups_of(&mut self, creator: &[u8; 32]) -> Result<GroupTotals, StorageError>;

    /// Adds a group without members, in epoch 0. Returns its number.
    fn add_group(&mut self, id: &[u8; 16], creator: &[u8; 32]) -> Result<GroupRow, StorageError>;

    /// Writes the epoch and the members of a group.
    fn update_group(
        &mut self,
        group: GroupRow,
        epoch: u64,
        members: &[PeerId],
    ) -> Result<(), StorageError>;

    /// Removes a device from all groups: what others have said of it is void.
    fn leave_groups(&mut self, device: DeviceRow) -> Result<(), StorageError>;

    /// Deletes the groups all of whose members are revoked. Returns their number.
    fn delete_abandoned_groups(&mut self) -> Result<u64, StorageError>;

    /// Adds a message of a sender that will be delivered to this number of mailboxes. Returns its
    /// number.
    fn add_message(
        &mut self,
        sender: DeviceRow,
        mailboxes: usize,
        frame: &[u8],
    ) -> Result<i64, StorageError>;

    /// Delivers a message to a mailbox.
    fn add_delivery(
        &mut self,
        device: DeviceRow,
        position: u64,
        message: i64,
    ) -> Result<(), StorageError>;

    /// Notes the digest of a frame that a device put, in the place of the one that left
    /// its window.
    fn note_put(
        &mut self,
        device: DeviceRow,
        sequence: u64,
        digest: &[u8; 16],
    ) -> Result<(), StorageError>;

    /// Returns the digest of the frame that a device put under a sequence of its window. `None` if
    /// none is noted.
    fn noted_put(
        &mut self,
        device: DeviceRow,
        sequence: u64,
    ) -> Result<Option<[u8; 16]>, StorageError>;

    /// Deletes frames of a mailbox up to a position, the oldest first, and messages that are in no
    /// other one. Stops after some MiB, so that the transaction stays small.
    fn delete_deliveries(&mut self, device: DeviceRow, up_to: u64)
    -> Result<Deleted, StorageError>;

    /// Adds a device with an empty mailbox, which registered with the invitation of this name.
    /// Returns its number.
    fn add_device(
        &mut self,
        peer: &PeerId,
        identity: &[u8; 32],
        certificate: &[u8],
        invitation: &str,
    ) -> Result<DeviceRow, StorageError>;

    /// Writes all fields of a device except its peer id. A device that is revoked stays so, as
    /// another process may have revoked it since.
    fn update_device(&mut self, device: &DeviceState) -> Result<(), StorageError>;

    /// Revokes a device at once, whatever its person record says. The frames that wait for it are
    /// deleted by the hub.
    fn revoke_device(&mut self, device: DeviceRow) -> Result<(), StorageError>;

    /// Admits a device again that never proved its key, and was revoked.
    fn admit_device(&mut self, device: DeviceRow) -> Result<(), StorageError>;

    /// Notes that a person was removed, or that an invitation has brought it back.
    fn set_removed(&mut self, identity: &[u8; 32], is_removed: bool) -> Result<(), StorageError>;

    /// Revokes all devices of a person, also one that registers at the same time, and notes that
    /// the person was removed. Returns the number of devices that were not revoked before.
    fn remove_person(&mut self, identity: &[u8; 32]) -> Result<usize, StorageError> {
        self.lock_persons(&[*identity])?;
        let mut devices = self.devices_of(identity)?;
        devices.retain(|device| !device.is_revoked);
        for device in &devices {
            self.revoke_device(device.row)?;
        }
        self.set_removed(identity, true)?;
        Ok(devices.len())
    }

    /// Returns true if a person was removed.
    fn is_removed(&mut self, identity: &[u8; 32]) -> Result<bool, StorageError>;

    /// Deletes the invitations of a name. Returns their number.
    fn revoke_invitations(&mut self, name: &str) -> Result<usize, StorageError>;

    /// Returns the person record of an identity.
    fn person(&mut self, identity: &[u8; 32]) -> Result<Option<Vec<u8>>, StorageError>;

    /// Writes the person record of an identity.
    fn put_person(&mut self, identity: &[u8; 32], record: &[u8]) -> Result<(), StorageError>;

    /// Adds an invitation, identified by the digest of its token.
    fn add_invitation(
        &mut self,
        token: &[u8; 32],
        name: &str,
        expires: u64,
        uses: u32,
    ) -> Result<(), StorageError>;

    /// Uses an invitation once, and returns its name. `None` if the invitation does not exist, has
    /// expired or is used up.
    fn use_invitation(
        &mut self,
        token: &[u8; 32],
        now: u64,
    ) -> Result<Option<String>, StorageError>;

    /// Adds a prekey, unless it is stored already or was handed out before. One of last resort
    /// replaces the earlier one.
    fn add_prekey(
        &mut self,
        device: DeviceRow,
        is_one_time: bool,
        prekey: &[u8],
    ) -> Result<(), StorageError>;

    /// Deletes the prekeys of a device that serve once.
    fn delete_one_time_prekeys(&mut self, device: DeviceRow) -> Result<(), StorageError>;

    /// Returns number and bytes of the prekeys of a device that serve once.
    fn one_time_prekeys(&mut self, device: DeviceRow) -> Result<(u64, u64), StorageError>;

    /// Returns a prekey of a device for an asker. If the asker has received no prekey of this
    /// device that serves once since `since`, it gets one, which is deleted. Otherwise, or if none
    /// is left, it gets the one of last resort, if there is one.
    fn take_prekey(
        &mut self,
        device: DeviceRow,
        asker: DeviceRow,
        since: u64,
        now: u64,
    ) -> Result<Option<Vec<u8>>, StorageError>;

    /// Deletes what is stored about a revoked device besides its mailbox and its row: its prekeys,
    /// the records of prekeys that were handed out to it or of it, and the digests of its frames.
    fn clear_device(&mut self, device: DeviceRow) -> Result<(), StorageError>;
}

/// Queries that count violations of an invariant. Each count must be 0. Both engines run them.
const CHECKS: [(&str, &str); 8] = [
    (
        "SELECT count(*) FROM delivery LEFT JOIN message ON message.id = delivery.message
            LEFT JOIN device ON device.id = delivery.device
            WHERE message.id IS NULL OR device.id IS NULL",
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
        "SELECT count(*) FROM device LEFT JOIN person ON person.identity = device.identity
            WHERE person.identity IS NULL",
        "devices without a person",
    ),
    (
        "SELECT count(*) FROM member LEFT JOIN conversation ON conversation.id = member.conversation
            LEFT JOIN device ON device.id = member.device
            WHERE conversation.id IS NULL OR device.id IS NULL",
        "members without a group or a device",
    ),
    (
        "SELECT count(*) FROM conversation
            WHERE id NOT IN (SELECT conversation FROM member)",
        "groups without members",
    ),
    (
        "SELECT count(*) FROM conversation LEFT JOIN
            (SELECT conversation AS held, count(*) AS times FROM member GROUP BY conversation)
            AS counts ON held = id WHERE members <> coalesce(times, 0)",
        "groups with a wrong number of members",
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

fn signed(number: u64) -> i64 {
    // Numbers are positions in microseconds and lengths of data in memory, all far below 2^63.
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Slot of a sequence in the table `put`. A window holds the highest sequence and `SIZE` below it,
/// of which no two share a slot.
fn put_slot(sequence: u64) -> i64 {
    signed(sequence % (ReplayWindow::SIZE + 1))
}

//! Changes of a hub's database in SQLite.

use std::collections::HashMap;

use endseal_crypto::peer_id::PeerId;
use rusqlite::{OptionalExtension as _, Row, Transaction, params};

use super::{DEVICE, VERSION, bytes, device, unsigned};
use crate::digest::short_digest;
use crate::store::{
    Deleted, DeletedShare, DeviceRow, DeviceState, GroupRow, GroupState, GroupTotals,
    HubTransaction, Mailbox, Outdated, ShareChange, StorageError, put_slot, signed,
};

/// Bytes of frames and number of frames that one call deletes at most. Deleted pages are written as
/// zeros, so that a transaction needs as much space in the log as it frees.
const DELETED_BYTES: u64 = 8 << 20;
const DELETED_FRAMES: u64 = 4_096;

const OUTDATED: &str = "SELECT peer, revoked, last FROM device
    WHERE id IN (SELECT device FROM share) AND (revoked
        OR EXISTS (SELECT 1 FROM delivery WHERE delivery.device = device.id AND position <= ?))";
const REVOKED: &str = "SELECT peer, revoked, last FROM device WHERE revoked <> 0 AND frames > 0";

fn outdated(row: &Row<'_>) -> Result<Outdated, rusqlite::Error> {
    let peer = PeerId::from_bytes(&bytes(row, 0)?);
    Ok(Outdated { peer, is_revoked: row.get(1)?, last: unsigned(row, 2)? })
}

pub(super) struct SqliteTransaction<'c>(pub(super) Transaction<'c>);

impl HubTransaction for SqliteTransaction<'_> {
    fn lock_persons(&mut self, _: &[[u8; 32]]) -> Result<(), StorageError> {
        // The transaction is the only one that writes.
        Ok(())
    }

    fn mailboxes(&mut self, peers: &[PeerId]) -> Result<Vec<Mailbox>, StorageError> {
        let sql = format!("{DEVICE} FROM device WHERE peer = ?");
        let mut of_peer = self.0.prepare_cached(&sql)?;
        let sql = "SELECT sender, frames, bytes FROM share WHERE device = ?";
        let mut of_device = self.0.prepare_cached(sql)?;
        let mut found = Vec::with_capacity(peers.len());
        for peer in peers {
            let state = of_peer.query_row([&peer.as_bytes()[..]], device).optional()?;
            let Some(state) = state else { continue };
            let shares = of_device.query_map([state.row.0], |row| {
                Ok((bytes(row, 0)?, unsigned(row, 1)?, unsigned(row, 2)?))
            })?;
            let shares = shares.collect::<Result<_, _>>()?;
            found.push(Mailbox { state, shares });
        }
        Ok(found)
    }

    fn devices_of(&mut self, identity: &[u8; 32]) -> Result<Vec<DeviceState>, StorageError> {
        let sql = format!("{DEVICE} FROM device WHERE identity = ?");
        let mut statement = self.0.prepare_cached(&sql)?;
        let devices = statement.query_map([&identity[..]], device)?;
        Ok(devices.collect::<Result<_, _>>()?)
    }

    fn outdated(&mut self, before: u64) -> Result<Vec<Outdated>, StorageError> {
        let mut statement = self.0.prepare_cached(OUTDATED)?;
        let found = statement.query_map([signed(before)], outdated)?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    fn revoked(&mut self) -> Result<Vec<Outdated>, StorageError> {
        let mut statement = self.0.prepare_cached(REVOKED)?;
        let found = statement.query_map([], outdated)?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    fn change_shares(&mut self, changes: &[ShareChange]) -> Result<(), StorageError> {
        for ShareChange { device, sender, frames, bytes } in changes {
            if *frames > 0 {
                let sql = "INSERT INTO share (device, sender, frames, bytes) VALUES (?, ?, ?, ?)
                    ON CONFLICT DO UPDATE SET frames = frames + excluded.frames,
                    bytes = bytes + excluded.bytes";
                let mut statement = self.0.prepare_cached(sql)?;
                statement.execute(params![device.0, &sender[..], frames, bytes])?;
                continue;
            }
            let sql = "UPDATE share SET frames = frames + ?, bytes = bytes + ?
                WHERE device = ? AND sender = ?";
            let mut statement = self.0.prepare_cached(sql)?;
            statement.execute(params![frames, bytes, device.0, &sender[..]])?;
            let sql = "DELETE FROM share WHERE device = ? AND sender = ? AND frames <= 0";
            self.0.prepare_cached(sql)?.execute(params![device.0, &sender[..]])?;
        }
        Ok(())
    }

    fn probe(&mut self) -> Result<(), StorageError> {
        Ok(self.0.pragma_update(None, "user_version", VERSION)?)
    }

    fn meta(&mut self, name: &str) -> Result<Option<Vec<u8>>, StorageError> {
        let mut statement = self.0.prepare_cached("SELECT value FROM meta WHERE name = ?")?;
        Ok(statement.query_row([name], |row| row.get(0)).optional()?)
    }

    fn set_meta(&mut self, name: &str, value: &[u8]) -> Result<(), StorageError> {
        let sql = "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)";
        self.0.prepare_cached(sql)?.execute(params![name, value])?;
        Ok(())
    }

    fn groups(&mut self, ids: &[[u8; 16]]) -> Result<Vec<GroupState>, StorageError> {
        let sql = "SELECT id, epoch, creator FROM conversation WHERE group_id = ?";
        let mut of_id = self.0.prepare_cached(sql)?;
        let sql = "SELECT peer FROM member JOIN device ON device.id = member.device
            WHERE member.conversation = ? ORDER BY peer";
        let mut of_group = self.0.prepare_cached(sql)?;
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            let group = of_id
                .query_row([&id[..]], |row| Ok((row.get(0)?, unsigned(row, 1)?, bytes(row, 2)?)));
            let Some((row, epoch, creator)) = group.optional()? else { continue };
            let members =
                of_group.query_map([row], |row| Ok(PeerId::from_bytes(&bytes(row, 0)?)))?;
            let members = members.collect::<Result<_, _>>()?;
            found.push(GroupState { row: GroupRow(row), id: *id, creator, epoch, members });
        }
        Ok(found)
    }

    fn groups_of(&mut self, creator: &[u8; 32]) -> Result<GroupTotals, StorageError> {
        let sql = "SELECT count(*), coalesce(sum(members), 0) FROM conversation WHERE creator = ?";
        let mut statement = self.0.prepare_cached(sql)?;
        Ok(statement.query_row([&creator[..]], |row| {
            Ok(GroupTotals { groups: unsigned(row, 0)?, members: unsigned(row, 1)? })
        })?)
    }

    fn add_group(&mut self, id: &[u8; 16], creator: &[u8; 32]) -> Result<GroupRow, StorageError> {
        let sql =
            "INSERT INTO conversation (group_id, creator, epoch, members) VALUES (?, ?, 0, 0)";
        self.0.prepare_cached(sql)?.execute(params![&id[..], &creator[..]])?;
        Ok(GroupRow(self.0.last_insert_rowid()))
    }

    fn update_group(
        &mut self,
        group: GroupRow,
        epoch: u64,
        members: &[PeerId],
    ) -> Result<(), StorageError> {
        let sql = "DELETE FROM member WHERE conversation = ?";
        self.0.prepare_cached(sql)?.execute([group.0])?;
        let sql =
            "INSERT INTO member (conversation, device) SELECT ?, id FROM device WHERE peer = ?";
        let mut statement = self.0.prepare_cached(sql)?;
        let mut added = 0;
        for peer in members {
            added += statement.execute(params![group.0, &peer.as_bytes()[..]])? as u64;
        }
        let sql = "UPDATE conversation SET epoch = ?, members = ? WHERE id = ?";
        self.0.prepare_cached(sql)?.execute(params![signed(epoch), signed(added), group.0])?;
        Ok(())
    }

    fn leave_groups(&mut self, device: DeviceRow) -> Result<(), StorageError> {
        let sql = "UPDATE conversation SET members = members - 1
            WHERE id IN (SELECT conversation FROM member WHERE device = ?)";
        self.0.prepare_cached(sql)?.execute([device.0])?;
        self.0.prepare_cached("DELETE FROM member WHERE device = ?")?.execute([device.0])?;
        Ok(())
    }

    fn delete_abandoned_groups(&mut self) -> Result<u64, StorageError> {
        let sql = "DELETE FROM conversation WHERE NOT EXISTS (SELECT 1 FROM member
            JOIN device ON device.id = member.device
            WHERE member.conversation = conversation.id AND device.revoked = 0)";
        let deleted = self.0.prepare_cached(sql)?.execute([])?;
        if deleted > 0 {
            let sql = "DELETE FROM member WHERE conversation NOT IN (SELECT id FROM conversation)";
            self.0.prepare_cached(sql)?.execute([])?;
        }
        Ok(deleted as u64)
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
    ) -> Result<(), StorageError> {
        let sql = "INSERT INTO delivery (device, position, message) VALUES (?, ?, ?)";
        let mut statement = self.0.prepare_cached(sql)?;
        statement.execute(params![device.0, signed(position), message])?;
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
            "SELECT position, sender, length(frame)
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
        for (sender, (frames, length)) in senders {
            let sql = "SELECT peer, identity FROM device WHERE id = ?";
            let mut statement = self.0.prepare_cached(sql)?;
            let (peer, identity) =
                statement.query_row([sender], |row| Ok((bytes(row, 0)?, bytes(row, 1)?)))?;
            let sender = PeerId::from_bytes(&peer);
            shares.push(DeletedShare { sender, identity, frames, bytes: length });
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
            dropped = ?, visited = ? WHERE id = ?";
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
            signed(device.visited),
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

    fn add_prekey(
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

    fn delete_one_time_prekeys(&mut self, device: DeviceRow) -> Result<(), StorageError> {
        let sql = "DELETE FROM prekey WHERE device = ? AND one_time = 1";
        self.0.prepare_cached(sql)?.execute(params![device.0])?;
        Ok(())
    }

    fn one_time_prekeys(&mut self, device: DeviceRow) -> Result<(u64, u64), StorageError> {
        let sql = "SELECT count(*), coalesce(sum(length(bundle)), 0) FROM prekey
            WHERE device = ? AND one_time = 1";
        let mut statement = self.0.prepare_cached(sql)?;
        let count = statement
            .query_row(params![device.0], |row| Ok((unsigned(row, 0)?, unsigned(row, 1)?)));
        Ok(count?)
    }

    fn take_prekey(
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

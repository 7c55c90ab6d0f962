//! Changes of a hub's database in PostgreSQL. Frames are collected and written together, as each
//! statement costs a round trip.

mod groups;
mod unwritten;

use core::ops::Range;
use std::collections::HashMap;

use endseal_crypto::peer_id::PeerId;
use futures_util::future::try_join;
use tokio::runtime::Runtime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use self::unwritten::{NewDelivery, Unwritten};
use super::link::{Link, bytes, column, unsigned};
use super::{device, device_columns};
use crate::digest::short_digest;
use crate::store::{
    Deleted, DeletedShare, DeviceRow, DeviceState, GroupRow, GroupState, GroupTotals,
    HubTransaction, Mailbox, Outdated, ShareChange, StorageError, put_slot, signed,
};

/// Frames that one call deletes at most.
const DELETED_FRAMES: i64 = 4_096;
/// Bytes that show if there is space for a frame: as many as the longest one has.
const PROBE_BYTES: usize = 1 << 20;

/// Locks the values of the table `meta` against other transactions that use this statement.
pub(super) const LOCK_META: &str = "UPDATE meta SET value = value WHERE name = 'version'";

/// Numbers of messages that a block of the sequence has.
const BLOCK: i64 = 1_024;

pub(super) struct PostgresTransaction<'s> {
    pub(super) runtime: &'s Runtime,
    pub(super) link: &'s mut Link,
    /// Numbers of messages that this process may use.
    pub(super) numbers: &'s mut Range<i64>,
    unwritten: Unwritten,
}

impl<'s> PostgresTransaction<'s> {
    pub(super) fn new(
        runtime: &'s Runtime,
        link: &'s mut Link,
        numbers: &'s mut Range<i64>,
    ) -> Self {
        Self { runtime, link, numbers, unwritten: Unwritten::default() }
    }

    fn query(
        &mut self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StorageError> {
        self.runtime.block_on(self.link.query(sql, parameters))
    }

    fn query_opt(
        &mut self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>, StorageError> {
        self.runtime.block_on(self.link.query_opt(sql, parameters))
    }

    fn execute(
        &mut self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, StorageError> {
        self.runtime.block_on(self.link.execute(sql, parameters))
    }

    /// Writes the rows that were collected.
    pub(super) fn flush(&mut self) -> Result<(), StorageError> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        let rows = core::mem::take(&mut self.unwritten);
        self.runtime.block_on(unwritten::write(self.link, rows))
    }
}

fn outdated(row: &Row) -> Result<Outdated, StorageError> {
    let peer = PeerId::from_bytes(&bytes(row, 0)?);
    Ok(Outdated { peer, is_revoked: unsigned(row, 1)? != 0, last: unsigned(row, 2)? })
}

impl HubTransaction for PostgresTransaction<'_> {
    fn lock_persons(&mut self, identities: &[[u8; 32]]) -> Result<(), StorageError> {
        let keys = identities.iter().filter_map(|it| it.first_chunk());
        let mut keys: Vec<_> = keys.map(|it| i64::from_le_bytes(*it)).collect();
        keys.sort_unstable();
        let sql = "SELECT pg_advisory_xact_lock(key) FROM
            (SELECT unnest($1::bigint[]) AS key ORDER BY 1) AS keys";
        self.query(sql, &[&keys])?;
        Ok(())
    }

    fn mailboxes(&mut self, peers: &[PeerId]) -> Result<Vec<Mailbox>, StorageError> {
        let peers: Vec<&[u8]> = peers.iter().map(|peer| &peer.as_bytes()[..]).collect();
        let devices_sql =
            concat!(device_columns!(), " FROM device WHERE peer = ANY($1) ORDER BY id FOR UPDATE");
        // A second statement, so that it sees what was committed while the first one waited.
        let shares_sql = "SELECT share.device, share.sender, share.frames, share.bytes FROM share
            JOIN device ON device.id = share.device WHERE peer = ANY($1)";
        let Self { runtime, link, .. } = self;
        let (devices, shares) = runtime.block_on(async {
            let (of_devices, of_shares) =
                (link.prepare(devices_sql).await?, link.prepare(shares_sql).await?);
            let parameters: [&(dyn ToSql + Sync); 1] = [&peers];
            let found = try_join(
                link.client.query(&of_devices, &parameters),
                link.client.query(&of_shares, &parameters),
            );
            Ok::<_, StorageError>(found.await?)
        })?;
        let mut of_device = HashMap::<i64, Vec<_>>::new();
        for row in &shares {
            let share = (bytes(row, 1)?, unsigned(row, 2)?, unsigned(row, 3)?);
            of_device.entry(column(row, 0)?).or_default().push(share);
        }
        let mailbox = |row| {
            let state = device(row)?;
            let shares = of_device.remove(&state.row.0).unwrap_or_default();
            Ok(Mailbox { state, shares })
        };
        devices.iter().map(mailbox).collect()
    }

    fn devices_of(&mut self, identity: &[u8; 32]) -> Result<Vec<DeviceState>, StorageError> {
        let sql = concat!(device_columns!(), " FROM device WHERE identity = $1 ORDER BY id");
        self.query(sql, &[&&identity[..]])?.iter().map(device).collect()
    }

    fn outdated(&mut self, before: u64) -> Result<Vec<Outdated>, StorageError> {
        self.flush()?;
        let sql = "SELECT peer, revoked, last FROM device WHERE frames > 0
            AND (revoked <> 0 OR (SELECT position FROM delivery
                WHERE delivery.device = device.id ORDER BY position LIMIT 1) <= $1)";
        self.query(sql, &[&signed(before)])?.iter().map(outdated).collect()
    }

    fn revoked(&mut self) -> Result<Vec<Outdated>, StorageError> {
        self.flush()?;
        let sql = "SELECT peer, revoked, last FROM device WHERE revoked <> 0 AND frames > 0";
        self.query(sql, &[])?.iter().map(outdated).collect()
    }

    fn lock_messages(&mut self, mailboxes: &[(DeviceRow, u64)]) -> Result<(), StorageError> {
        if mailboxes.is_empty() {
            return Ok(());
        }
        // Messages in one mailbox alone are locked with its device.
        let sql = "SELECT count(*) FROM (SELECT id FROM message WHERE targets > 1 AND id IN (
                SELECT message FROM unnest($1::bigint[], $2::bigint[]) AS it (device, up_to),
                    LATERAL (SELECT message FROM delivery WHERE delivery.device = it.device
                        AND position <= it.up_to ORDER BY position LIMIT $3) AS oldest)
            ORDER BY id FOR UPDATE) AS locked";
        let devices: Vec<_> = mailboxes.iter().map(|it| it.0.0).collect();
        let positions: Vec<_> = mailboxes.iter().map(|it| signed(it.1)).collect();
        self.query(sql, &[&devices, &positions, &DELETED_FRAMES])?;
        Ok(())
    }

    fn groups(&mut self, ids: &[[u8; 16]]) -> Result<Vec<GroupState>, StorageError> {
        groups::read(self, ids)
    }

    fn groups_of(&mut self, creator: &[u8; 32]) -> Result<GroupTotals, StorageError> {
        groups::totals(self, creator)
    }

    fn add_group(&mut self, id: &[u8; 16], creator: &[u8; 32]) -> Result<GroupRow, StorageError> {
        groups::add(self, id, creator)
    }

    fn update_group(
        &mut self,
        group: GroupRow,
        epoch: u64,
        members: &[PeerId],
    ) -> Result<(), StorageError> {
        groups::update(self, group, epoch, members)
    }

    fn leave_groups(&mut self, device: DeviceRow) -> Result<(), StorageError> {
        groups::leave(self, device)
    }

    fn delete_abandoned_groups(&mut self) -> Result<u64, StorageError> {
        groups::delete_abandoned(self)
    }

    fn change_shares(&mut self, changes: &[ShareChange]) -> Result<(), StorageError> {
        self.unwritten.shares.extend_from_slice(changes);
        Ok(())
    }

    fn probe(&mut self) -> Result<(), StorageError> {
        self.execute(LOCK_META, &[])?;
        Ok(())
    }

    /// The page of the other probe is there already.
    fn probe_space(&mut self) -> Result<(), StorageError> {
        let sql = "INSERT INTO message (id, sender, targets, mailboxes, frame)
            VALUES (nextval('message_id'), 0, 0, 0, $1) RETURNING id";
        let row = self.query_opt(sql, &[&vec![0_u8; PROBE_BYTES]])?;
        let row = row.ok_or(StorageError::Format("a new row has no number"))?;
        let id: i64 = column(&row, 0)?;
        self.execute("DELETE FROM message WHERE id = $1", &[&id])?;
        Ok(())
    }

    fn meta(&mut self, name: &str) -> Result<Option<Vec<u8>>, StorageError> {
        let value = self.query_opt("SELECT value FROM meta WHERE name = $1", &[&name])?;
        value.map(|row| column(&row, 0)).transpose()
    }

    fn set_meta(&mut self, name: &str, value: &[u8]) -> Result<(), StorageError> {
        let sql = "INSERT INTO meta (name, value) VALUES ($1, $2)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        self.execute(sql, &[&name, &value])?;
        Ok(())
    }

    fn add_message(
        &mut self,
        sender: DeviceRow,
        mailboxes: usize,
        frame: &[u8],
    ) -> Result<i64, StorageError> {
        let number = match self.numbers.next() {
            Some(number) => number,
            None => {
                let row = self.query_opt("SELECT nextval('message_id')", &[])?;
                let row = row.ok_or(StorageError::Format("a sequence is missing"))?;
                let first: i64 = column(&row, 0)?;
                *self.numbers = first + 1..first + BLOCK;
                first
            }
        };
        self.unwritten.messages.push((number, sender.0, signed(mailboxes as u64)));
        self.unwritten.frames.push(frame.to_vec());
        Ok(number)
    }

    fn add_delivery(
        &mut self,
        device: DeviceRow,
        position: u64,
        message: i64,
    ) -> Result<(), StorageError> {
        // The message was added just before.
        let frame = self.unwritten.frames.last().map_or(0, Vec::len);
        let size = signed(frame as u64);
        let position = signed(position);
        self.unwritten.deliveries.push(NewDelivery { device: device.0, position, message, size });
        Ok(())
    }

    fn note_put(
        &mut self,
        device: DeviceRow,
        sequence: u64,
        digest: &[u8; 16],
    ) -> Result<(), StorageError> {
        self.unwritten.puts.insert((device.0, put_slot(sequence)), *digest);
        Ok(())
    }

    fn noted_put(
        &mut self,
        device: DeviceRow,
        sequence: u64,
    ) -> Result<Option<[u8; 16]>, StorageError> {
        let slot = put_slot(sequence);
        if let Some(digest) = self.unwritten.puts.get(&(device.0, slot)) {
            return Ok(Some(*digest));
        }
        let sql = "SELECT digest FROM put WHERE device = $1 AND slot = $2";
        self.query_opt(sql, &[&device.0, &slot])?.map(|row| bytes(&row, 0)).transpose()
    }

    fn delete_deliveries(
        &mut self,
        device: DeviceRow,
        up_to: u64,
    ) -> Result<Deleted, StorageError> {
        let up_to = signed(up_to);
        let is_deleted = |it: &NewDelivery| it.device == device.0 && it.position <= up_to;
        if self.unwritten.deliveries.iter().any(is_deleted) {
            self.flush()?;
        }
        // `targets` stays as it is: a transaction that waited for another's change of `mailboxes`
        // still finds the row.
        let sql = "WITH gone AS (DELETE FROM delivery WHERE device = $1 AND position IN
                (SELECT position FROM delivery WHERE device = $1 AND position <= $2
                    ORDER BY position LIMIT $3) RETURNING position, message, size),
            one AS (DELETE FROM message USING gone WHERE id = gone.message AND targets = 1
                RETURNING id, sender, 1 AS mailboxes),
            several AS (UPDATE message SET mailboxes = mailboxes - 1 FROM gone
                WHERE id = gone.message AND targets > 1 RETURNING id, sender, mailboxes)
            SELECT peer, identity, count(*), sum(size)::bigint, max(position),
                array_agg(found.id) FILTER (WHERE found.mailboxes = 0)
            FROM gone JOIN (SELECT * FROM one UNION ALL SELECT * FROM several) AS found
                ON found.id = gone.message
            JOIN device ON device.id = found.sender GROUP BY peer, identity";
        let rows = self.query(sql, &[&device.0, &up_to, &DELETED_FRAMES])?;
        let mut deleted = Deleted::default();
        let (mut frames, mut unused) = (0, Vec::<i64>::new());
        for row in &rows {
            let share = DeletedShare {
                sender: PeerId::from_bytes(&bytes(row, 0)?),
                identity: bytes(row, 1)?,
                frames: unsigned(row, 2)?,
                bytes: unsigned(row, 3)?,
            };
            frames += share.frames;
            deleted.position = deleted.position.max(unsigned(row, 4)?);
            unused.extend(column::<Option<Vec<i64>>>(row, 5)?.unwrap_or_default());
            deleted.shares.push(share);
        }
        if !unused.is_empty() {
            let sql = "DELETE FROM message WHERE id = ANY($1) AND mailboxes = 0";
            self.execute(sql, &[&unused])?;
        }
        deleted.is_all = signed(frames) < DELETED_FRAMES;
        Ok(deleted)
    }

    fn add_device(
        &mut self,
        peer: &PeerId,
        identity: &[u8; 32],
        certificate: &[u8],
        invitation: &str,
    ) -> Result<DeviceRow, StorageError> {
        let sql =
            "INSERT INTO device (id, peer, identity, certificate, invitation, revoked, pending,
            last, gap_count, gap_position, frames, bytes, acknowledged, published, dropped)
            VALUES (nextval('device_id'), $1, $2, $3, $4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
            RETURNING id";
        let parameters: [&(dyn ToSql + Sync); 4] =
            [&&peer.as_bytes()[..], &&identity[..], &certificate, &invitation];
        let row = self.query_opt(sql, &parameters)?;
        let row = row.ok_or(StorageError::Format("a new row has no number"))?;
        Ok(DeviceRow(column(&row, 0)?))
    }

    fn update_device(&mut self, device: &DeviceState) -> Result<(), StorageError> {
        self.unwritten.devices.push(device.clone());
        Ok(())
    }

    fn revoke_device(&mut self, device: DeviceRow) -> Result<(), StorageError> {
        self.execute("UPDATE device SET revoked = 1 WHERE id = $1", &[&device.0])?;
        self.clear_device(device)
    }

    fn admit_device(&mut self, device: DeviceRow) -> Result<(), StorageError> {
        let sql = "UPDATE device SET revoked = 0 WHERE id = $1 AND pending <> 0";
        self.execute(sql, &[&device.0])?;
        Ok(())
    }

    fn set_removed(&mut self, identity: &[u8; 32], is_removed: bool) -> Result<(), StorageError> {
        let sql = "UPDATE person SET removed = $1 WHERE identity = $2";
        self.execute(sql, &[&i64::from(is_removed), &&identity[..]])?;
        Ok(())
    }

    fn is_removed(&mut self, identity: &[u8; 32]) -> Result<bool, StorageError> {
        let sql = "SELECT removed FROM person WHERE identity = $1";
        let removed = self.query_opt(sql, &[&&identity[..]])?;
        removed.map_or(Ok(false), |row| Ok(unsigned(&row, 0)? != 0))
    }

    fn revoke_invitations(&mut self, name: &str) -> Result<usize, StorageError> {
        let sql = "DELETE FROM invitation WHERE name = $1 AND uses > 0";
        Ok(usize::try_from(self.execute(sql, &[&name])?).unwrap_or(usize::MAX))
    }

    fn person(&mut self, identity: &[u8; 32]) -> Result<Option<Vec<u8>>, StorageError> {
        let sql = "SELECT record FROM person WHERE identity = $1";
        self.query_opt(sql, &[&&identity[..]])?.map(|row| column(&row, 0)).transpose()
    }

    fn put_person(&mut self, identity: &[u8; 32], record: &[u8]) -> Result<(), StorageError> {
        let sql = "INSERT INTO person (identity, record) VALUES ($1, $2)
            ON CONFLICT (identity) DO UPDATE SET record = excluded.record";
        self.execute(sql, &[&&identity[..], &record])?;
        Ok(())
    }

    fn add_invitation(
        &mut self,
        token: &[u8; 32],
        name: &str,
        expires: u64,
        uses: u32,
    ) -> Result<(), StorageError> {
        let sql = "INSERT INTO invitation (token, name, expires, uses) VALUES ($1, $2, $3, $4)";
        self.execute(sql, &[&&token[..], &name, &signed(expires), &i64::from(uses)])?;
        Ok(())
    }

    fn use_invitation(
        &mut self,
        token: &[u8; 32],
        now: u64,
    ) -> Result<Option<String>, StorageError> {
        let sql = "UPDATE invitation SET uses = uses - 1
            WHERE token = $1 AND expires > $2 AND uses > 0 RETURNING name";
        self.query_opt(sql, &[&&token[..], &signed(now)])?.map(|row| column(&row, 0)).transpose()
    }

    fn add_prekey(
        &mut self,
        device: DeviceRow,
        is_one_time: bool,
        bundle: &[u8],
    ) -> Result<(), StorageError> {
        if !is_one_time {
            let sql = "DELETE FROM prekey WHERE device = $1 AND one_time = 0";
            self.execute(sql, &[&device.0])?;
        }
        let sql = "INSERT INTO prekey (id, device, one_time, bundle)
            SELECT nextval('prekey_id'), $1, $2, $3
            WHERE NOT EXISTS (SELECT 1 FROM given WHERE device = $1 AND digest = $4)
            ON CONFLICT DO NOTHING";
        let digest = short_digest(bundle);
        self.execute(sql, &[&device.0, &i64::from(is_one_time), &bundle, &&digest[..]])?;
        Ok(())
    }

    fn delete_one_time_prekeys(&mut self, device: DeviceRow) -> Result<(), StorageError> {
        self.execute("DELETE FROM prekey WHERE device = $1 AND one_time = 1", &[&device.0])?;
        Ok(())
    }

    fn one_time_prekeys(&mut self, device: DeviceRow) -> Result<(u64, u64), StorageError> {
        let sql = "SELECT count(*), coalesce(sum(octet_length(bundle)), 0)::bigint FROM prekey
            WHERE device = $1 AND one_time = 1";
        let row = self.query_opt(sql, &[&device.0])?;
        row.map_or(Ok((0, 0)), |row| Ok((unsigned(&row, 0)?, unsigned(&row, 1)?)))
    }

    fn take_prekey(
        &mut self,
        device: DeviceRow,
        asker: DeviceRow,
        since: u64,
        now: u64,
    ) -> Result<Option<Vec<u8>>, StorageError> {
        let sql = "SELECT 1 FROM taken WHERE device = $1 AND asker = $2 AND time > $3";
        if self.query_opt(sql, &[&device.0, &asker.0, &signed(since)])?.is_none() {
            let sql = "DELETE FROM prekey WHERE id =
                (SELECT min(id) FROM prekey WHERE device = $1 AND one_time = 1) RETURNING bundle";
            let bundle = self.query_opt(sql, &[&device.0])?;
            if let Some(bundle) = bundle.map(|row| column::<Vec<u8>>(&row, 0)).transpose()? {
                let sql =
                    "INSERT INTO given (device, digest) VALUES ($1, $2) ON CONFLICT DO NOTHING";
                self.execute(sql, &[&device.0, &&short_digest(&bundle)[..]])?;
                let sql = "INSERT INTO taken (device, asker, time) VALUES ($1, $2, $3)
                    ON CONFLICT (device, asker) DO UPDATE SET time = excluded.time";
                self.execute(sql, &[&device.0, &asker.0, &signed(now)])?;
                return Ok(Some(bundle));
            }
        }
        let sql = "SELECT bundle FROM prekey WHERE device = $1 AND one_time = 0";
        self.query_opt(sql, &[&device.0])?.map(|row| column(&row, 0)).transpose()
    }

    fn clear_device(&mut self, device: DeviceRow) -> Result<(), StorageError> {
        self.flush()?;
        for sql in [
            "DELETE FROM prekey WHERE device = $1",
            "DELETE FROM given WHERE device = $1",
            "DELETE FROM taken WHERE device = $1 OR asker = $1",
            "DELETE FROM put WHERE device = $1",
        ] {
            self.execute(sql, &[&device.0])?;
        }
        Ok(())
    }
}

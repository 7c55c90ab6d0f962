//! Changes of a hub's database in PostgreSQL. Frames are collected and written together, as each
//! statement costs a round trip.

use core::ops::Range;
use std::collections::HashMap;

use endseal_crypto::peer_id::PeerId;
use futures_util::future::{try_join, try_join3};
use tokio::runtime::Runtime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::link::{Link, bytes, column, unsigned};
use super::{device, device_columns};
use crate::digest::short_digest;
use crate::store::{
    Deleted, DeletedShare, DeviceRow, DeviceState, GroupRow, GroupState, HubTransaction, Mailbox,
    Outdated, ShareChange, StorageError, put_slot, signed,
};

/// Frames that one call deletes at most.
const DELETED_FRAMES: i64 = 4_096;
/// Bytes that show if there is space for a frame: as many as the longest one has.
const PROBE_BYTES: usize = 1 << 20;

/// Locks the values of the table `meta` against other transactions that use this statement.
pub(super) const LOCK_META: &str = "UPDATE meta SET value = value WHERE name = 'version'";

/// Numbers of messages that a block of the sequence has.
const BLOCK: i64 = 1_024;

#[derive(Clone, Copy)]
struct NewDelivery {
    device: i64,
    position: i64,
    message: i64,
    size: i64,
}

/// Rows that are not written yet.
#[derive(Default)]
struct Unwritten {
    messages: Vec<(i64, i64, i64)>,
    frames: Vec<Vec<u8>>,
    deliveries: Vec<NewDelivery>,
    slots: Vec<Vec<u8>>,
    /// Digests of frames by device and slot.
    puts: HashMap<(i64, i64), [u8; 16]>,
    devices: Vec<DeviceState>,
    shares: Vec<ShareChange>,
}

impl Unwritten {
    fn is_empty(&self) -> bool {
        self.messages.is_empty()
            && self.deliveries.is_empty()
            && self.puts.is_empty()
            && self.devices.is_empty()
            && self.shares.is_empty()
    }
}

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
        self.runtime.block_on(write(self.link, rows))
    }
}

/// Writes rows with one statement for each table. They are sent together.
async fn write(link: &mut Link, rows: Unwritten) -> Result<(), StorageError> {
    let Unwritten { messages, frames, deliveries, slots, puts, devices, shares } = rows;
    let messages_sql = "INSERT INTO message (id, sender, targets, mailboxes, frame)
        SELECT id, sender, targets, targets, frame FROM
        unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[]) AS it (id, sender, targets, frame)";
    let deliveries_sql = "INSERT INTO delivery (device, position, message, slot, size)
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[])";
    let puts_sql = "INSERT INTO put (device, slot, digest)
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])
        ON CONFLICT (device, slot) DO UPDATE SET digest = excluded.digest";
    if !messages.is_empty() || !puts.is_empty() {
        let message = link.prepare(messages_sql).await?;
        let delivery = link.prepare(deliveries_sql).await?;
        let put = link.prepare(puts_sql).await?;
        let ids: Vec<_> = messages.iter().map(|it| it.0).collect();
        let senders: Vec<_> = messages.iter().map(|it| it.1).collect();
        let targets: Vec<_> = messages.iter().map(|it| it.2).collect();
        let targets_of: Vec<_> = deliveries.iter().map(|it| it.device).collect();
        let positions: Vec<_> = deliveries.iter().map(|it| it.position).collect();
        let numbers: Vec<_> = deliveries.iter().map(|it| it.message).collect();
        let sizes: Vec<_> = deliveries.iter().map(|it| it.size).collect();
        let putters: Vec<_> = puts.keys().map(|it| it.0).collect();
        let put_slots: Vec<_> = puts.keys().map(|it| it.1).collect();
        let digests: Vec<_> = puts.values().map(|it| &it[..]).collect();
        let message_row: [&(dyn ToSql + Sync); 4] = [&ids, &senders, &targets, &frames];
        let delivery_row: [&(dyn ToSql + Sync); 5] =
            [&targets_of, &positions, &numbers, &slots, &sizes];
        let put_row: [&(dyn ToSql + Sync); 3] = [&putters, &put_slots, &digests];
        try_join3(
            link.client.execute(&message, &message_row),
            link.client.execute(&delivery, &delivery_row),
            link.client.execute(&put, &put_row),
        )
        .await?;
    }
    write_devices(link, &devices).await?;
    write_shares(link, &shares).await
}

async fn write_devices(link: &mut Link, devices: &[DeviceState]) -> Result<(), StorageError> {
    if devices.is_empty() {
        return Ok(());
    }
    let sql = "UPDATE device SET identity = it.identity, certificate = it.certificate,
        invitation = it.invitation, revoked = greatest(device.revoked, it.revoked),
        pending = it.pending, seen = it.seen, last = it.last, gap_count = it.gap_count,
        gap_position = it.gap_position, frames = it.frames, bytes = it.bytes,
        acknowledged = it.acknowledged, published = it.published, dropped = it.dropped,
        visited = it.visited
        FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::text[], $5::bigint[], $6::bigint[],
            $7::bytea[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
            $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[])
        AS it (id, identity, certificate, invitation, revoked, pending, seen, last, gap_count,
            gap_position, frames, bytes, acknowledged, published, dropped, visited)
        WHERE device.id = it.id";
    let numbers = |of: fn(&DeviceState) -> u64| -> Vec<i64> {
        devices.iter().map(|device| signed(of(device))).collect()
    };
    let rows: Vec<_> = devices.iter().map(|it| it.row.0).collect();
    let identities: Vec<_> = devices.iter().map(|it| &it.identity[..]).collect();
    let certificates: Vec<_> = devices.iter().map(|it| it.certificate.as_slice()).collect();
    let invitations: Vec<_> = devices.iter().map(|it| it.invitation.as_str()).collect();
    let windows: Vec<_> =
        devices.iter().map(|it| it.window.to_bytes().map(|seen| seen.to_vec())).collect();
    let (revoked, pending) =
        (numbers(|it| u64::from(it.is_revoked)), numbers(|it| u64::from(it.is_pending)));
    let (last, gap, gap_at) =
        (numbers(|it| it.last), numbers(|it| it.gap.0), numbers(|it| it.gap.1));
    let (frames, length) = (numbers(|it| it.frames), numbers(|it| it.bytes));
    let (acknowledged, published) = (numbers(|it| it.acknowledged), numbers(|it| it.published));
    let (dropped, visited) = (numbers(|it| it.dropped), numbers(|it| it.visited));
    let parameters: [&(dyn ToSql + Sync); 16] = [
        &rows,
        &identities,
        &certificates,
        &invitations,
        &revoked,
        &pending,
        &windows,
        &last,
        &gap,
        &gap_at,
        &frames,
        &length,
        &acknowledged,
        &published,
        &dropped,
        &visited,
    ];
    link.execute(sql, &parameters).await?;
    Ok(())
}

async fn write_shares(link: &mut Link, shares: &[ShareChange]) -> Result<(), StorageError> {
    let added: Vec<_> = shares.iter().filter(|it| it.frames > 0).collect();
    let other: Vec<_> = shares.iter().filter(|it| it.frames <= 0).collect();
    for (changes, sql) in [
        (
            added,
            "INSERT INTO share (device, sender, frames, bytes)
                SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[])
                ON CONFLICT (device, sender) DO UPDATE SET
                frames = share.frames + excluded.frames, bytes = share.bytes + excluded.bytes",
        ),
        (
            other,
            "WITH it AS (SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[])
                    AS it (device, sender, frames, bytes)),
                gone AS (DELETE FROM share USING it WHERE share.device = it.device
                    AND share.sender = it.sender AND share.frames + it.frames <= 0)
                UPDATE share SET frames = share.frames + it.frames, bytes = share.bytes + it.bytes
                FROM it WHERE share.device = it.device AND share.sender = it.sender
                    AND share.frames + it.frames > 0",
        ),
    ] {
        if changes.is_empty() {
            continue;
        }
        let devices: Vec<_> = changes.iter().map(|it| it.device.0).collect();
        let senders: Vec<_> = changes.iter().map(|it| &it.sender[..]).collect();
        let frames: Vec<_> = changes.iter().map(|it| it.frames).collect();
        let length: Vec<_> = changes.iter().map(|it| it.bytes).collect();
        link.execute(sql, &[&devices, &senders, &frames, &length]).await?;
    }
    Ok(())
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
        let ids: Vec<&[u8]> = ids.iter().map(|id| &id[..]).collect();
        let sql = "SELECT id, group_id, epoch FROM conversation
            WHERE group_id = ANY($1) ORDER BY id FOR UPDATE";
        let groups = self.query(sql, &[&ids])?;
        if groups.is_empty() {
            return Ok(Vec::new());
        }
        let rows = groups.iter().map(|row| column::<i64>(row, 0)).collect::<Result<Vec<_>, _>>()?;
        // A second statement, so that it sees what was committed while the first one waited.
        let sql = "SELECT member.conversation, device.peer FROM member
            JOIN device ON device.id = member.device
            WHERE member.conversation = ANY($1) ORDER BY device.peer";
        let mut members = HashMap::<i64, Vec<_>>::new();
        for row in self.query(sql, &[&rows])? {
            let peer = PeerId::from_bytes(&bytes(&row, 1)?);
            members.entry(column(&row, 0)?).or_default().push(peer);
        }
        let group = |row: &Row| {
            let number: i64 = column(row, 0)?;
            let members = members.remove(&number).unwrap_or_default();
            Ok(GroupState {
                row: GroupRow(number),
                id: bytes(row, 1)?,
                epoch: unsigned(row, 2)?,
                members,
            })
        };
        groups.iter().map(group).collect()
    }

    fn groups_of(&mut self, creator: &[u8; 32]) -> Result<u64, StorageError> {
        let sql = "SELECT count(*) FROM conversation WHERE creator = $1";
        let row = self.query_opt(sql, &[&&creator[..]])?;
        row.map_or(Ok(0), |row| unsigned(&row, 0))
    }

    fn add_group(&mut self, id: &[u8; 16], creator: &[u8; 32]) -> Result<GroupRow, StorageError> {
        let sql = "INSERT INTO conversation (id, group_id, creator, epoch)
            VALUES (nextval('conversation_id'), $1, $2, 0) RETURNING id";
        let row = self.query_opt(sql, &[&&id[..], &&creator[..]])?;
        let row = row.ok_or(StorageError::Format("a new row has no number"))?;
        Ok(GroupRow(column(&row, 0)?))
    }

    fn update_group(
        &mut self,
        group: GroupRow,
        epoch: u64,
        members: &[PeerId],
    ) -> Result<(), StorageError> {
        let peers: Vec<&[u8]> = members.iter().map(|peer| &peer.as_bytes()[..]).collect();
        let sql = "UPDATE conversation SET epoch = $2 WHERE id = $1";
        self.execute(sql, &[&group.0, &signed(epoch)])?;
        let sql = "DELETE FROM member WHERE conversation = $1";
        self.execute(sql, &[&group.0])?;
        let sql = "INSERT INTO member (conversation, device)
            SELECT $1, id FROM device WHERE peer = ANY($2)";
        self.execute(sql, &[&group.0, &peers])?;
        Ok(())
    }

    fn leave_groups(&mut self, device: DeviceRow) -> Result<(), StorageError> {
        self.execute("DELETE FROM member WHERE device = $1", &[&device.0])?;
        Ok(())
    }

    fn delete_abandoned_groups(&mut self) -> Result<u64, StorageError> {
        self.flush()?;
        let sql = "WITH gone AS (DELETE FROM conversation WHERE NOT EXISTS (SELECT 1 FROM member
                JOIN device ON device.id = member.device
                WHERE member.conversation = conversation.id AND device.revoked = 0) RETURNING id),
            members AS (DELETE FROM member USING gone WHERE member.conversation = gone.id)
            SELECT count(*) FROM gone";
        let row = self.query_opt(sql, &[])?;
        row.map_or(Ok(0), |row| unsigned(&row, 0))
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
        slot: &[u8],
    ) -> Result<(), StorageError> {
        // The message was added just before.
        let frame = self.unwritten.frames.last().map_or(0, Vec::len);
        let size = signed((frame + slot.len()) as u64);
        let position = signed(position);
        self.unwritten.deliveries.push(NewDelivery { device: device.0, position, message, size });
        self.unwritten.slots.push(slot.to_vec());
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

//! Rows of a transaction that are written together.

use std::collections::HashMap;

use futures_util::future::try_join3;
use tokio_postgres::types::ToSql;

use super::Link;
use crate::store::{DeviceState, ShareChange, StorageError, signed};

/// A delivery of a message whose frame is not written yet either. `size` is the length of the frame
/// in bytes.
#[derive(Clone, Copy)]
pub(super) struct NewDelivery {
    pub(super) device: i64,
    pub(super) position: i64,
    pub(super) message: i64,
    pub(super) size: i64,
}

/// Rows that are not written yet.
#[derive(Default)]
pub(super) struct Unwritten {
    pub(super) messages: Vec<(i64, i64, i64)>,
    pub(super) frames: Vec<Vec<u8>>,
    pub(super) deliveries: Vec<NewDelivery>,
    /// Digests of frames by device and slot.
    pub(super) puts: HashMap<(i64, i64), [u8; 16]>,
    pub(super) devices: Vec<DeviceState>,
    pub(super) shares: Vec<ShareChange>,
}

impl Unwritten {
    /// Returns true if nothing has to be written.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
            && self.deliveries.is_empty()
            && self.puts.is_empty()
            && self.devices.is_empty()
            && self.shares.is_empty()
    }
}

/// Writes rows with one statement for each table. They are sent together.
pub(super) async fn write(link: &mut Link, rows: Unwritten) -> Result<(), StorageError> {
    let Unwritten { messages, frames, deliveries, puts, devices, shares } = rows;
    let messages_sql = "INSERT INTO message (id, sender, targets, mailboxes, frame)
        SELECT id, sender, targets, targets, frame FROM
        unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[])
            AS it (id, sender, targets, frame)";
    let deliveries_sql = "INSERT INTO delivery (device, position, message, size)
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])";
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
        let delivery_row: [&(dyn ToSql + Sync); 4] = [&targets_of, &positions, &numbers, &sizes];
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

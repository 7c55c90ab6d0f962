//! Statements for groups of conversations and their members, as the methods of `HubTransaction`
//! describe them.

use std::collections::HashMap;

use endseal_crypto::peer_id::PeerId;
use tokio_postgres::Row;

use super::{PostgresTransaction, bytes, column, unsigned};
use crate::store::{DeviceRow, GroupRow, GroupState, GroupTotals, StorageError, signed};

/// Reads groups with their members, and locks the rows of the groups.
pub(super) fn read(
    transaction: &mut PostgresTransaction<'_>,
    ids: &[[u8; 16]],
) -> Result<Vec<GroupState>, StorageError> {
    let ids: Vec<&[u8]> = ids.iter().map(|id| &id[..]).collect();
    let sql = "SELECT id, group_id, epoch, creator FROM conversation
        WHERE group_id = ANY($1) ORDER BY id FOR UPDATE";
    let groups = transaction.query(sql, &[&ids])?;
    if groups.is_empty() {
        return Ok(Vec::new());
    }
    let rows = groups.iter().map(|row| column::<i64>(row, 0)).collect::<Result<Vec<_>, _>>()?;
    // A second statement, so that it sees what was committed while the first one waited.
    let sql = "SELECT member.conversation, device.peer FROM member
        JOIN device ON device.id = member.device
        WHERE member.conversation = ANY($1) ORDER BY device.peer";
    let mut members = HashMap::<i64, Vec<_>>::new();
    for row in transaction.query(sql, &[&rows])? {
        let peer = PeerId::from_bytes(&bytes(&row, 1)?);
        members.entry(column(&row, 0)?).or_default().push(peer);
    }
    let group = |row: &Row| {
        let number: i64 = column(row, 0)?;
        let members = members.remove(&number).unwrap_or_default();
        Ok(GroupState {
            row: GroupRow(number),
            id: bytes(row, 1)?,
            creator: bytes(row, 3)?,
            epoch: unsigned(row, 2)?,
            members,
        })
    };
    groups.iter().map(group).collect()
}

/// Counts the groups that a person has made, and the members in them.
pub(super) fn totals(
    transaction: &mut PostgresTransaction<'_>,
    creator: &[u8; 32],
) -> Result<GroupTotals, StorageError> {
    let sql = "SELECT count(*), coalesce(sum(members), 0)::bigint
        FROM conversation WHERE creator = $1";
    let row = transaction.query_opt(sql, &[&&creator[..]])?;
    let totals =
        |row: &Row| Ok(GroupTotals { groups: unsigned(row, 0)?, members: unsigned(row, 1)? });
    row.as_ref().map_or(Ok(GroupTotals::default()), totals)
}

/// Adds a group without members, in epoch 0.
pub(super) fn add(
    transaction: &mut PostgresTransaction<'_>,
    id: &[u8; 16],
    creator: &[u8; 32],
) -> Result<GroupRow, StorageError> {
    let sql = "INSERT INTO conversation (id, group_id, creator, epoch, members)
        VALUES (nextval('conversation_id'), $1, $2, 0, 0) RETURNING id";
    let row = transaction.query_opt(sql, &[&&id[..], &&creator[..]])?;
    let row = row.ok_or(StorageError::Format("a new row has no number"))?;
    Ok(GroupRow(column(&row, 0)?))
}

/// Writes the epoch and the members of a group.
pub(super) fn update(
    transaction: &mut PostgresTransaction<'_>,
    group: GroupRow,
    epoch: u64,
    members: &[PeerId],
) -> Result<(), StorageError> {
    let peers: Vec<&[u8]> = members.iter().map(|peer| &peer.as_bytes()[..]).collect();
    let sql = "DELETE FROM member WHERE conversation = $1";
    transaction.execute(sql, &[&group.0])?;
    let sql = "INSERT INTO member (conversation, device)
        SELECT $1, id FROM device WHERE peer = ANY($2)";
    let added = transaction.execute(sql, &[&group.0, &peers])?;
    let sql = "UPDATE conversation SET epoch = $2, members = $3 WHERE id = $1";
    transaction.execute(sql, &[&group.0, &signed(epoch), &signed(added)])?;
    Ok(())
}

/// Removes a device from all groups.
pub(super) fn leave(
    transaction: &mut PostgresTransaction<'_>,
    device: DeviceRow,
) -> Result<(), StorageError> {
    let sql = "WITH gone AS (DELETE FROM member WHERE device = $1 RETURNING conversation)
        UPDATE conversation SET members = members - 1 FROM gone WHERE id = gone.conversation";
    transaction.execute(sql, &[&device.0])?;
    Ok(())
}

/// Deletes the groups all of whose members are revoked. Returns their number.
pub(super) fn delete_abandoned(
    transaction: &mut PostgresTransaction<'_>,
) -> Result<u64, StorageError> {
    transaction.flush()?;
    let sql = "WITH gone AS (DELETE FROM conversation WHERE NOT EXISTS (SELECT 1 FROM member
            JOIN device ON device.id = member.device
            WHERE member.conversation = conversation.id AND device.revoked = 0) RETURNING id),
        members AS (DELETE FROM member USING gone WHERE member.conversation = gone.id)
        SELECT count(*) FROM gone";
    let row = transaction.query_opt(sql, &[])?;
    row.map_or(Ok(0), |row| unsigned(&row, 0))
}

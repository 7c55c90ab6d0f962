//! Reads of mailboxes in SQLite.

use endseal_crypto::peer_id::PeerId;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{DEVICE, bytes, device, unsigned};
use crate::store::{Delivery, DeviceRow, DeviceState, HubReader, StorageError, StoreState, signed};

pub(super) struct SqliteReader(pub(super) Connection);

impl HubReader for SqliteReader {
    fn deliveries(
        &mut self,
        device: DeviceRow,
        after: u64,
        frames: u64,
        bytes: u64,
    ) -> Result<Vec<Delivery>, StorageError> {
        let mut statement = self.0.prepare_cached(
            "SELECT position, frame FROM delivery JOIN message ON message.id = message
                WHERE device = ? AND position > ? ORDER BY position LIMIT ?",
        )?;
        let mut rows = statement.query(params![device.0, signed(after), signed(frames)])?;
        let (mut found, mut total) = (Vec::new(), 0);
        while total < bytes
            && let Some(row) = rows.next()?
        {
            let delivery = Delivery { position: unsigned(row, 0)?, frame: row.get(1)? };
            total += delivery.frame.len() as u64;
            found.push(delivery);
        }
        Ok(found)
    }

    fn devices(&mut self, peers: &[PeerId]) -> Result<Vec<DeviceState>, StorageError> {
        let sql = format!("{DEVICE} FROM device WHERE peer = ?");
        let mut statement = self.0.prepare_cached(&sql)?;
        let found = peers
            .iter()
            .map(|peer| Ok(statement.query_row([&peer.as_bytes()[..]], device).optional()?));
        found.filter_map(Result::transpose).collect()
    }

    fn totals(&mut self) -> Result<Vec<([u8; 32], u64)>, StorageError> {
        let sql = "SELECT sender, sum(bytes) FROM share GROUP BY sender";
        let mut statement = self.0.prepare_cached(sql)?;
        let totals = statement.query_map([], |row| Ok((bytes(row, 0)?, unsigned(row, 1)?)))?;
        Ok(totals.collect::<Result<_, _>>()?)
    }

    fn state(&mut self) -> Result<StoreState, StorageError> {
        // The subquery needs one lookup in the primary key of `delivery` for each mailbox.
        let sql = "SELECT min((SELECT min(position) FROM delivery WHERE device = share.device)),
            coalesce(sum(frames), 0), coalesce(sum(bytes), 0),
            (SELECT page_count * page_size FROM pragma_page_count, pragma_page_size) FROM share";
        let mut statement = self.0.prepare_cached(sql)?;
        let state = statement.query_row([], |row| {
            let oldest = row.get::<_, Option<i64>>(0)?.map(|_| unsigned(row, 0)).transpose()?;
            let (frames, waiting) = (unsigned(row, 1)?, unsigned(row, 2)?);
            Ok(StoreState { oldest, frames, waiting, bytes: unsigned(row, 3)? })
        });
        Ok(state?)
    }
}

//! Reads of mailboxes in PostgreSQL.

use endseal_crypto::peer_id::PeerId;
use tokio::runtime::Runtime;
use tokio_postgres::Row;

use super::link::{Link, Server, bytes, column, unsigned};
use super::{device, runtime};
use crate::store::{Delivery, DeviceRow, DeviceState, HubReader, StorageError, StoreState, signed};

/// Times that a read is tried while connections break.
const ATTEMPTS: u32 = 3;

pub(super) struct PostgresReader {
    runtime: Runtime,
    server: Server,
    link: Option<Link>,
}

impl PostgresReader {
    pub(super) fn open(server: &Server) -> Result<Self, StorageError> {
        let mut reader = Self { runtime: runtime()?, server: server.clone(), link: None };
        reader.run(async |_| Ok(()))?;
        Ok(reader)
    }

    /// Reads, on a new connection if there is none or it has broken. If it breaks now, it is read
    /// again.
    fn run<T>(
        &mut self,
        mut read: impl AsyncFnMut(&mut Link) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let Self { runtime, server, link } = self;
        runtime.block_on(async {
            let mut attempt = 0;
            loop {
                attempt += 1;
                let open = match link.take().filter(|link| !link.has_ended()) {
                    Some(open) => Ok(open),
                    None => Link::open(server).await,
                };
                let result = match open {
                    Ok(mut open) => {
                        let result = read(&mut open).await;
                        // After an error the server may be about to end the connection.
                        *link = Some(open).filter(|_| result.is_ok());
                        result
                    }
                    Err(error) => Err(error),
                };
                if result.is_ok() || attempt == ATTEMPTS {
                    return result;
                }
            }
        })
    }
}

impl HubReader for PostgresReader {
    fn deliveries(
        &mut self,
        device: DeviceRow,
        after: u64,
        frames: u64,
        length: u64,
    ) -> Result<Vec<Delivery>, StorageError> {
        let (after, frames, length) = (signed(after), signed(frames), signed(length));
        self.run(async |link| {
            let sql = "SELECT position, frame FROM (
                SELECT position, message, sum(size) OVER (ORDER BY position) - size AS before
                    FROM (SELECT position, message, size FROM delivery
                        WHERE device = $1 AND position > $2 ORDER BY position LIMIT $3) AS page
                ) AS sized JOIN message ON message.id = sized.message
                WHERE before < $4::bigint ORDER BY position";
            let rows = link.query(sql, &[&device.0, &after, &frames, &length]).await?;
            let delivery =
                |row| Ok(Delivery { position: unsigned(row, 0)?, frame: column(row, 1)? });
            rows.iter().map(delivery).collect()
        })
    }

    fn devices(&mut self, peers: &[PeerId]) -> Result<Vec<DeviceState>, StorageError> {
        let peers: Vec<&[u8]> = peers.iter().map(|peer| &peer.as_bytes()[..]).collect();
        self.run(async |link| {
            let sql = concat!(super::device_columns!(), " FROM device WHERE peer = ANY($1)");
            link.query(sql, &[&peers]).await?.iter().map(device).collect()
        })
    }

    fn totals(&mut self) -> Result<Vec<([u8; 32], u64)>, StorageError> {
        self.run(async |link| {
            let sql = "SELECT sender, sum(bytes)::bigint FROM share GROUP BY sender";
            let total = |row: &Row| Ok((bytes(row, 0)?, unsigned(row, 1)?));
            link.query(sql, &[]).await?.iter().map(total).collect()
        })
    }

    fn state(&mut self) -> Result<StoreState, StorageError> {
        self.run(async |link| {
            let sql = "SELECT (SELECT min(oldest) FROM (SELECT
                    (SELECT min(position) FROM delivery WHERE delivery.device = filled.device) AS oldest
                    FROM (SELECT DISTINCT device FROM share) AS filled) AS all_oldest),
                coalesce(sum(frames), 0)::bigint, coalesce(sum(bytes), 0)::bigint,
                pg_database_size(current_database()) FROM share";
            let row = link.query_opt(sql, &[]).await?;
            let row = row.ok_or(StorageError::Format("a sum has no row"))?;
            let oldest = column::<Option<i64>>(&row, 0)?.map(|_| unsigned(&row, 0)).transpose()?;
            let (frames, waiting) = (unsigned(&row, 1)?, unsigned(&row, 2)?);
            Ok(StoreState { oldest, frames, waiting, bytes: unsigned(&row, 3)? })
        })
    }
}

//! Rows of a database in PostgreSQL for another engine, and from it.

use core::mem::take;

use futures_util::TryStreamExt as _;
use futures_util::future::try_join_all;
use tokio::runtime::Runtime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::link::{Link, WITH_TIMEOUT, WITHOUT_TIMEOUT, bytes, column};
use crate::store::migration::{OTHER_HUB, TABLES};
use crate::store::{Cell, ColumnType, HUB, Importer, StorageError, Table};

/// Rows, and about so many bytes of them, that are sent together.
const ROWS: usize = 500;
const BYTES: usize = 4 << 20;

/// Returns the token under a name of the table `meta`.
pub(super) async fn token(link: &mut Link, name: &str) -> Result<Option<[u8; 16]>, StorageError> {
    let row = link.query_opt("SELECT value FROM meta WHERE name = $1", &[&name]).await?;
    row.map(|row| bytes(&row, 0)).transpose()
}

pub(super) fn export(
    runtime: &Runtime,
    link: &Link,
    table: &Table,
    each: &mut dyn FnMut(Vec<Cell>) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let sql = format!("SELECT {} FROM {}", table.list(), table.name);
    let rows = runtime.block_on(async {
        let none: [&(dyn ToSql + Sync); 0] = [];
        // The reader of the rows may be slow.
        link.client.batch_execute(WITHOUT_TIMEOUT).await?;
        link.client.query_raw(&sql, none).await
    })?;
    let mut rows = Box::pin(rows);
    // `each` may wait for a runtime of its own, which needs a thread that waits for no other one.
    while let Some(row) = runtime.block_on(rows.try_next())? {
        each(cells(table, &row)?)?;
    }
    Ok(runtime.block_on(link.client.batch_execute(WITH_TIMEOUT))?)
}

fn cells(table: &Table, row: &Row) -> Result<Vec<Cell>, StorageError> {
    let cell = |(at, (_, kind)): (usize, &(&str, ColumnType))| {
        Ok(match kind {
            ColumnType::Number => Cell::Number(column(row, at)?),
            ColumnType::Bytes => column::<Option<_>>(row, at)?.map_or(Cell::Null, Cell::Bytes),
            ColumnType::Text => Cell::Text(column(row, at)?),
        })
    };
    table.columns.iter().enumerate().map(cell).collect()
}

pub(super) fn import(
    runtime: &Runtime,
    link: &mut Link,
    token: &[u8; 16],
    fill: &mut dyn FnMut(&mut dyn Importer) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    runtime.block_on(async {
        link.client.batch_execute(WITHOUT_TIMEOUT).await?;
        link.client.batch_execute("BEGIN").await?;
        // No hub starts before the tables are filled.
        let lock = "LOCK TABLE device, person, message IN ACCESS EXCLUSIVE MODE";
        link.client.batch_execute(lock).await?;
        // A hub that claims the database at the same time waits.
        link.client.batch_execute(super::transaction::LOCK_META).await?;
        for table in &TABLES {
            let sql = format!("SELECT 1 FROM {} LIMIT 1", table.name);
            if !link.client.query(&sql, &[]).await?.is_empty() {
                return Err(StorageError::Migration("the other database is not empty"));
            }
        }
        Ok(())
    })?;
    let mut importer = PostgresImporter { runtime, link, table: None, rows: Vec::new(), bytes: 0 };
    fill(&mut importer)?;
    importer.flush()?;
    runtime.block_on(async {
        let sql = "INSERT INTO meta (name, value) VALUES ('filled_by', $1)";
        link.client.execute(sql, &[&&token[..]]).await?;
        link.client.batch_execute(FINISH).await?;
        Ok(link.client.batch_execute(WITH_TIMEOUT).await?)
    })
}

/// Columns that SQLite does not have, and the next numbers.
const FINISH: &str = "
    UPDATE delivery SET size = octet_length(frame) FROM message
        WHERE message.id = delivery.message;
    SELECT setval('device_id', coalesce(max(id), 0) + 1, false) FROM device;
    SELECT setval('message_id', coalesce(max(id), 0) + 1, false) FROM message;
    SELECT setval('conversation_id', coalesce(max(id), 0) + 1, false) FROM conversation;
    SELECT setval('prekey_id', coalesce(max(id), 0) + 1, false) FROM prekey;
    COMMIT;
    ANALYZE";

struct PostgresImporter<'s> {
    runtime: &'s Runtime,
    link: &'s mut Link,
    /// Statement for the rows that are not sent yet.
    table: Option<String>,
    rows: Vec<Vec<Cell>>,
    bytes: usize,
}

impl PostgresImporter<'_> {
    fn flush(&mut self) -> Result<(), StorageError> {
        let Some(sql) = &self.table else { return Ok(()) };
        let rows = take(&mut self.rows);
        self.bytes = 0;
        self.runtime.block_on(async {
            let statement = self.link.client.prepare(sql).await?;
            let insert = rows.iter().map(|row| {
                let cells = row.iter().map(|cell| cell as &(dyn ToSql + Sync));
                let cells: Vec<_> = cells.collect();
                let (client, statement) = (&self.link.client, &statement);
                async move { client.execute(statement, &cells).await }
            });
            try_join_all(insert).await?;
            Ok(())
        })
    }
}

impl Importer for PostgresImporter<'_> {
    fn add(&mut self, table: &Table, row: Vec<Cell>) -> Result<(), StorageError> {
        let mut columns = table.list();
        let marks = (1..=table.columns.len()).map(|number| format!("${number}"));
        let mut marks = marks.collect::<Vec<_>>().join(", ");
        match table.name {
            "message" => {
                columns.push_str(", targets");
                marks.push_str(", $3");
            }
            "delivery" => {
                columns.push_str(", size");
                marks.push_str(", 0");
            }
            _ => {}
        }
        let sql = format!("INSERT INTO {} ({columns}) VALUES ({marks})", table.name);
        if self.table.as_ref() != Some(&sql) {
            self.flush()?;
            self.table = Some(sql);
        }
        let length = |cell: &Cell| match cell {
            Cell::Bytes(bytes) => bytes.len(),
            _ => 0,
        };
        self.bytes += row.iter().map(length).sum::<usize>();
        self.rows.push(row);
        if self.rows.len() >= ROWS || self.bytes >= BYTES { self.flush() } else { Ok(()) }
    }

    fn set_meta(&mut self, name: &str, value: &[u8]) -> Result<(), StorageError> {
        if name == HUB {
            let sql = "SELECT 1 FROM meta WHERE name = $1 AND value <> $2";
            let other = self.runtime.block_on(self.link.query_opt(sql, &[&name, &value]))?;
            if other.is_some() {
                return Err(OTHER_HUB);
            }
        }
        let sql = "INSERT INTO meta (name, value) VALUES ($1, $2)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        self.runtime.block_on(self.link.execute(sql, &[&name, &value]))?;
        Ok(())
    }
}

impl ToSql for Cell {
    fn to_sql(
        &self,
        column: &tokio_postgres::types::Type,
        out: &mut bytes::BytesMut,
    ) -> Result<tokio_postgres::types::IsNull, Box<dyn core::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(tokio_postgres::types::IsNull::Yes),
            Self::Number(number) => number.to_sql(column, out),
            Self::Bytes(bytes) => bytes.to_sql(column, out),
            Self::Text(text) => text.to_sql(column, out),
        }
    }

    fn accepts(column: &tokio_postgres::types::Type) -> bool {
        i64::accepts(column)
            || <Vec<u8> as ToSql>::accepts(column)
            || <String as ToSql>::accepts(column)
    }

    tokio_postgres::types::to_sql_checked!();
}

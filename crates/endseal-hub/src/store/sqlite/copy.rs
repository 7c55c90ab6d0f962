//! Rows of a database in SQLite for another engine, and from it.

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{
    Connection, OptionalExtension as _, ToSql, Transaction, TransactionBehavior, params,
    params_from_iter,
};

use super::bytes;
use crate::store::migration::{OTHER_HUB, TABLES};
use crate::store::{Cell, HUB, Importer, StorageError, Table};

/// Returns the token under a name of the table `meta`.
pub(super) fn token(connection: &Connection, name: &str) -> Result<Option<[u8; 16]>, StorageError> {
    let sql = "SELECT value FROM meta WHERE name = ?";
    Ok(connection.query_row(sql, [name], |row| bytes(row, 0)).optional()?)
}

pub(super) fn export(
    connection: &Connection,
    table: &Table,
    each: &mut dyn FnMut(Vec<Cell>) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let mut statement =
        connection.prepare(&format!("SELECT {} FROM {}", table.list(), table.name))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let cell = |at| {
            Ok(match row.get_ref(at)? {
                ValueRef::Integer(number) => Cell::Number(number),
                ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
                ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
                ValueRef::Null | ValueRef::Real(_) => Cell::Null,
            })
        };
        each((0..table.columns.len()).map(cell).collect::<Result<_, rusqlite::Error>>()?)?;
    }
    Ok(())
}

pub(super) fn import(
    connection: &mut Connection,
    token: &[u8; 16],
    fill: &mut dyn FnMut(&mut dyn Importer) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let behaviour = TransactionBehavior::Immediate;
    let transaction = connection.transaction_with_behavior(behaviour)?;
    for table in &TABLES {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {})", table.name);
        if transaction.query_row(&sql, [], |row| row.get(0))? {
            return Err(StorageError::Migration("the other database is not empty"));
        }
    }
    let mut importer = SqliteImporter(transaction);
    fill(&mut importer)?;
    let SqliteImporter(transaction) = importer;
    let sql = "INSERT INTO meta (name, value) VALUES ('filled_by', ?)";
    transaction.execute(sql, [&token[..]])?;
    Ok(transaction.commit()?)
}

struct SqliteImporter<'c>(Transaction<'c>);

impl Importer for SqliteImporter<'_> {
    fn add(&mut self, table: &Table, row: Vec<Cell>) -> Result<(), StorageError> {
        let marks = vec!["?"; table.columns.len()].join(", ");
        let sql = format!("INSERT INTO {} ({}) VALUES ({marks})", table.name, table.list());
        self.0.prepare_cached(&sql)?.execute(params_from_iter(row))?;
        Ok(())
    }

    fn set_meta(&mut self, name: &str, value: &[u8]) -> Result<(), StorageError> {
        if name == HUB {
            let sql = "SELECT EXISTS (SELECT 1 FROM meta WHERE name = ? AND value <> ?)";
            if self.0.query_row(sql, params![name, value], |row| row.get(0))? {
                return Err(OTHER_HUB);
            }
        }
        let sql = "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)";
        self.0.execute(sql, params![name, value])?;
        Ok(())
    }
}

impl ToSql for Cell {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>, rusqlite::Error> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Value::Null),
            Self::Number(number) => ToSqlOutput::Owned(Value::Integer(*number)),
            Self::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

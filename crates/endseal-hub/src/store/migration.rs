//! Copies the database of a hub to another engine.

use endseal_crypto::random::{OsRandom, Random as _};

use self::ColumnType::{Bytes, Number, Text};
use super::{ADDRESS_NOTE, HUB, HubStore, QUOTAS, StorageError, TIME};

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "types of columns, for stores of others")]
pub enum Cell {
    /// No value.
    Null,
    /// A number.
    Number(i64),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Text.
    Text(String),
}

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "types of columns, for stores of others")]
pub enum ColumnType {
    /// A number.
    Number,
    /// Bytes, or no value.
    Bytes,
    /// Text.
    Text,
}

/// A table of a hub's database.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "for stores of others")]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Names and types of the columns that both engines have.
    pub columns: &'static [(&'static str, ColumnType)],
}

impl Table {
    /// Returns the names of the columns as a list in SQL.
    #[must_use]
    pub fn list(&self) -> String {
        self.columns.iter().map(|it| it.0).collect::<Vec<_>>().join(", ")
    }
}

/// The tables without `meta`, of which four values are copied.
pub(super) const TABLES: [Table; 12] = [
    Table {
        name: "invitation",
        columns: &[("token", Bytes), ("name", Text), ("expires", Number), ("uses", Number)],
    },
    Table {
        name: "person",
        columns: &[("identity", Bytes), ("record", Bytes), ("removed", Number)],
    },
    Table {
        name: "device",
        columns: &[
            ("id", Number),
            ("peer", Bytes),
            ("identity", Bytes),
            ("certificate", Bytes),
            ("invitation", Text),
            ("revoked", Number),
            ("pending", Number),
            ("seen", Bytes),
            ("last", Number),
            ("gap_count", Number),
            ("gap_position", Number),
            ("frames", Number),
            ("bytes", Number),
            ("acknowledged", Number),
            ("published", Number),
            ("dropped", Number),
            ("visited", Number),
        ],
    },
    Table {
        name: "share",
        columns: &[("device", Number), ("sender", Bytes), ("frames", Number), ("bytes", Number)],
    },
    Table { name: "put", columns: &[("device", Number), ("slot", Number), ("digest", Bytes)] },
    Table {
        name: "message",
        columns: &[("id", Number), ("sender", Number), ("mailboxes", Number), ("frame", Bytes)],
    },
    Table {
        name: "delivery",
        columns: &[("device", Number), ("position", Number), ("message", Number)],
    },
    Table {
        name: "conversation",
        columns: &[
            ("id", Number),
            ("group_id", Bytes),
            ("creator", Bytes),
            ("epoch", Number),
            ("members", Number),
        ],
    },
    Table { name: "member", columns: &[("conversation", Number), ("device", Number)] },
    Table {
        name: "prekey",
        columns: &[("id", Number), ("device", Number), ("one_time", Number), ("bundle", Bytes)],
    },
    Table { name: "taken", columns: &[("device", Number), ("asker", Number), ("time", Number)] },
    Table { name: "given", columns: &[("device", Number), ("digest", Bytes)] },
];

/// Writes rows of a table.
pub trait Importer {
    /// Adds a row.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn add(&mut self, table: &Table, row: Vec<Cell>) -> Result<(), StorageError>;

    /// Writes a value of the table `meta`.
    ///
    /// # Errors
    /// [`StorageError`] if the database cannot be written.
    fn set_meta(&mut self, name: &str, value: &[u8]) -> Result<(), StorageError>;
}

/// Name in the table `meta` of a database that was copied completely.
pub(super) const COMPLETE: &str = "moved";

/// The error for a target that a hub with another key has claimed.
pub(super) const OTHER_HUB: StorageError =
    StorageError::Migration("the other database belongs to a hub with another key");

/// Tokens of migrations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "for stores of others")]
pub struct Migrations {
    /// That of the migration which filled this database.
    pub filled_by: Option<[u8; 16]>,
    /// That of the migration which copied this database to another one.
    pub retired_by: Option<[u8; 16]>,
    /// True if the copy is complete.
    pub is_complete: bool,
}

/// Copies all rows to an empty database, and marks the first one as retired. Returns the number of
/// copied rows. A migration that was interrupted goes on when it is started again; 0 rows are
/// copied if it was complete.
///
/// # Errors
/// [`StorageError`] if a hub serves from `from`, if `to` has rows that are not those of this
/// migration or belongs to another hub, or if one of them fails.
pub fn migrate(from: &mut dyn HubStore, to: &mut dyn HubStore) -> Result<u64, StorageError> {
    let moved = "it was moved to another database already";
    let Migrations { retired_by, is_complete, .. } = from.migrations()?;
    let complete = |from: &mut dyn HubStore| {
        from.transact(&mut |transaction| transaction.set_meta(COMPLETE, &[]))
    };
    let token = match retired_by {
        Some(token) if to.migrations()?.filled_by == Some(token) => {
            // The run that made the copy may have ended before it noted that.
            if !is_complete {
                complete(from)?;
            }
            return Ok(0);
        }
        Some(_) if is_complete => return Err(StorageError::Migration(moved)),
        Some(token) => token,
        None => {
            // Before the first database is closed.
            if !to.devices()?.is_empty() || !to.invitations()?.is_empty() {
                return Err(StorageError::Migration("the other database is not empty"));
            }
            let owner = hub(to)?;
            if owner.is_some() && owner != hub(from)? {
                return Err(OTHER_HUB);
            }
            let mut token = [0; 16];
            OsRandom.fill(&mut token).map_err(|error| StorageError::Database(Box::new(error)))?;
            token
        }
    };
    // From here on no hub changes what is copied.
    from.retire(&token)?;
    let mut meta = Vec::new();
    from.transact(&mut |transaction| {
        meta.clear();
        for name in [TIME, HUB, QUOTAS, ADDRESS_NOTE] {
            meta.extend(transaction.meta(name)?.map(|value| (name, value)));
        }
        Ok(())
    })?;
    let mut rows = 0;
    to.import(&token, &mut |importer| {
        meta.iter().try_for_each(|(name, value)| importer.set_meta(name, value))?;
        for table in &TABLES {
            from.export(table, &mut |row| {
                rows += 1;
                importer.add(table, row)
            })?;
        }
        Ok(())
    })?;
    complete(from)?;
    Ok(rows)
}

/// Returns the peer id of the hub that has claimed a database.
fn hub(store: &mut dyn HubStore) -> Result<Option<Vec<u8>>, StorageError> {
    let mut owner = None;
    store.transact(&mut |transaction| {
        owner = transaction.meta(HUB)?;
        Ok(())
    })?;
    Ok(owner)
}

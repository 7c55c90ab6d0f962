//! The tables of the database (docs/spec/store.md, "Schema").

use rusqlite::{Connection, Error};

use crate::error::{Finding, OpenStoreError};
use crate::format::{APPLICATION_ID, VERSION};

/// Makes the tables in an empty database.
pub(crate) fn make(connection: &mut Connection) -> Result<(), Error> {
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(include_str!("schema.sql"))?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

/// Checks that the database is a store's, of the version that this program reads. Changes nothing.
pub(crate) fn check(connection: &Connection) -> Result<(), OpenStoreError> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    // The first read of the database: a key or a first page that is not authentic shows here.
    match (pragma("application_id")?, pragma("user_version")?) {
        (APPLICATION_ID, VERSION) => Ok(()),
        (APPLICATION_ID, version) if version > 0 => {
            Err(OpenStoreError::OtherVersion(version.unsigned_abs()))
        }
        _ => Err(OpenStoreError::Damaged(Finding::Foreign)),
    }
}

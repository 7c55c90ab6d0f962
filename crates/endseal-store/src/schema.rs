//! The tables, version by version (docs/spec/store.md, "Schema").

use rusqlite::{Connection, Error, TransactionBehavior};

use crate::error::{Finding, OpenStoreError};
use crate::inbox;

/// `esl1`.
pub(crate) const APPLICATION_ID: i32 = 0x6573_6c31;

/// What raises a database from version i to version i + 1, in order. The first makes a new one.
const STEPS: &[Step] = &[
    Step { sql: include_str!("schema/v1.sql"), rows: None },
    Step { sql: include_str!("schema/v2.sql"), rows: None },
    Step { sql: include_str!("schema/v3.sql"), rows: Some(pack_inbox) },
    Step { sql: include_str!("schema/v4.sql"), rows: None },
];

/// Changes rows in a transaction.
type Rows = fn(&Connection) -> Result<(), Error>;

/// From one version to the next.
#[derive(Clone, Copy)]
struct Step {
    sql: &'static str,
    /// What is beyond SQL, and comes after it.
    rows: Option<Rows>,
}

fn pack_inbox(connection: &Connection) -> Result<(), Error> {
    inbox::pack_rows(connection)?;
    connection.execute_batch("DROP TABLE inbox_2")
}

/// The version that this program writes.
pub(crate) const VERSION: usize = STEPS.len();

/// Makes the tables in an empty database.
pub(crate) fn make(connection: &mut Connection) -> Result<(), Error> {
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    raise(connection, 0, STEPS)
}

/// Checks that the database is a store's and raises it to this program's version.
pub(crate) fn prepare(connection: &mut Connection) -> Result<(), OpenStoreError> {
    let version = version(connection)?;
    raise(connection, version, STEPS)?;
    Ok(())
}

/// The version of a store's database; it is one that this program knows.
pub(crate) fn version(connection: &Connection) -> Result<usize, OpenStoreError> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    // The first read of the database: a key or a first page that is not authentic shows here.
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let version = u32::try_from(version).unwrap_or(0);
    let known = usize::try_from(version).ok().filter(|version| *version <= VERSION);
    match (application, known) {
        (APPLICATION_ID, None) => Err(OpenStoreError::LaterVersion(version)),
        (APPLICATION_ID, Some(version)) if version > 0 => Ok(version),
        _ => Err(OpenStoreError::Damaged(Finding::Foreign)),
    }
}

/// One transaction for each version, so that a failure leaves a version that exists.
fn raise(connection: &mut Connection, from: usize, steps: &[Step]) -> Result<(), Error> {
    for (version, step) in (1_i32..).zip(steps).skip(from) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(step.sql)?;
        if let Some(rows) = step.rows {
            rows(&transaction)?;
        }
        transaction.pragma_update(None, "user_version", version)?;
        transaction.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(connection: &Connection) -> i32 {
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    }

    #[test]
    fn each_version_is_raised_to_the_next_in_its_own_transaction() {
        let add: Rows = |it| it.execute_batch("UPDATE a SET y = x + 1");
        let steps = [
            ("CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1);", None),
            ("ALTER TABLE a ADD COLUMN y INTEGER", Some(add)),
            ("CREATE TABLE b AS SELECT y AS z FROM a; DROP TABLE a;", None),
        ];
        let steps = steps.map(|(sql, rows)| Step { sql, rows });
        for from in 0..=steps.len() {
            let mut connection = Connection::open_in_memory().unwrap();
            raise(&mut connection, 0, &steps[..from]).unwrap();
            assert_eq!(version(&connection), i32::try_from(from).unwrap());
            raise(&mut connection, from, &steps).unwrap();
            assert_eq!(version(&connection), 3);
            let z: i32 = connection.query_row("SELECT z FROM b", [], |row| row.get(0)).unwrap();
            assert_eq!(z, 2);
            // Again it is nothing.
            raise(&mut connection, 3, &steps).unwrap();
        }
    }

    #[test]
    fn a_step_that_fails_leaves_the_version_before_it() {
        let fail: Rows = |it| it.execute_batch("DROP TABLE nothing");
        for (sql, rows) in [
            ("INSERT INTO a VALUES (1); DROP TABLE nothing", None),
            ("INSERT INTO a VALUES (1)", Some(fail)),
        ] {
            let steps = [Step { sql: "CREATE TABLE a (x)", rows: None }, Step { sql, rows }];
            let mut connection = Connection::open_in_memory().unwrap();
            assert!(raise(&mut connection, 0, &steps).is_err());
            assert_eq!(version(&connection), 1);
            let rows: i32 =
                connection.query_row("SELECT count(*) FROM a", [], |row| row.get(0)).unwrap();
            assert_eq!(rows, 0);
        }
    }
}

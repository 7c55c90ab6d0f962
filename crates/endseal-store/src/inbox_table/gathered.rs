//! Messages of a transaction that are in no row yet.

use endseal_crypto::secret::Zeroizing;
use rusqlite::{Connection, Error};

use super::pack::{self, Before, Packed};
use crate::limits::MAX_NAME_LEN;

/// Messages of a transaction that wait for their row. They are written when their pack cannot hold
/// another one, before the inbox is read, and before the commit.
pub(crate) struct Gathered {
    first: u64,
    count: u32,
    before: Before,
    /// Never grows beyond its capacity: a vector that moves leaves a copy of plaintext behind.
    pack: Zeroizing<Vec<u8>>,
}

impl Gathered {
    pub(crate) fn new() -> Self {
        Self { first: 0, count: 0, before: Before::default(), pack: Zeroizing::new(Vec::new()) }
    }

    /// Takes in the next message. After an error it was not, and what was there is still there.
    pub(crate) fn add(
        &mut self,
        connection: &Connection,
        message: &Packed<'_>,
    ) -> Result<(), Error> {
        let most = Packed::most(message.message.len(), message.plaintext.len());
        if most > pack::MAX_LEN {
            return self.add_alone(connection, most, message);
        }
        if self.pack.capacity() == 0 {
            self.pack = Zeroizing::new(Vec::with_capacity(2 * pack::MAX_LEN));
        }
        if self.count > 0 {
            let (len, before) = (self.pack.len(), self.before);
            message.push(&mut self.before, &mut self.pack);
            if self.pack.len() <= pack::MAX_LEN {
                self.count += 1;
                return Ok(());
            }
            self.pack.truncate(len);
            self.before = before;
            self.write(connection)?;
        }
        message.push(&mut self.before, &mut self.pack);
        (self.first, self.count) = (message.seq, 1);
        Ok(())
    }

    /// A message that may fill a row alone.
    fn add_alone(
        &mut self,
        connection: &Connection,
        most: usize,
        message: &Packed<'_>,
    ) -> Result<(), Error> {
        self.write(connection)?;
        let mut pack = Zeroizing::new(Vec::with_capacity(most));
        message.push(&mut Before::default(), &mut pack);
        insert(connection, message.seq, 1, &pack)
    }

    /// Writes the gathered messages as one row, if there are any.
    pub(crate) fn write(&mut self, connection: &Connection) -> Result<(), Error> {
        if self.count > 0 {
            insert(connection, self.first, self.count, &self.pack)?;
            self.pack.clear();
            self.before = Before::default();
            self.count = 0;
        }
        Ok(())
    }
}

fn insert(connection: &Connection, first: u64, count: u32, pack: &[u8]) -> Result<(), Error> {
    debug_assert!(count == 1 || pack.len() <= pack::MAX_LEN);
    // Numbers were bounded when they were given out.
    let first = i64::try_from(first).unwrap_or(i64::MAX);
    let mut insert = connection.prepare_cached("INSERT INTO inbox VALUES (?1, ?2, ?3)")?;
    insert.execute((first, count, pack)).map(|_| ())
}

// A message that is not alone in its pack fits into the buffer behind a full pack.
const _: () = assert!(Packed::most(MAX_NAME_LEN, 0) < pack::MAX_LEN);

//! Walks over rows, a bounded number at a time.

use endseal_crypto::secret::Zeroizing;

use crate::address::{AddressRef, AddressRow};
use crate::conversation::ConversationRef;
use crate::error::StoreError;
use crate::store::transaction::{ReadTransaction, WriteTransaction};
use crate::{address, rows};

impl ReadTransaction<'_> {
    /// At most `limit` records of a kind with names behind `after`, in their order.
    ///
    /// # Errors
    /// [`StoreError`].
    #[allow(clippy::type_complexity, reason = "a list of names with their values")]
    pub fn records_after(
        &self,
        kind: u32,
        after: &[u8],
        limit: usize,
    ) -> Result<Vec<(Vec<u8>, Zeroizing<Vec<u8>>)>, StoreError> {
        let mut select = self.statement(
            "SELECT name, value FROM record WHERE kind = ?1 AND name > ?2 ORDER BY name LIMIT ?3",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let found = select.query_map((kind, after, limit), |row| {
            Ok((rows::bytes(row, 0)?, rows::secret(row, 1)?))
        })?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// At most `limit` addresses that were met after `after`, in that order.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn addresses_after(
        &self,
        after: Option<AddressRef>,
        limit: usize,
    ) -> Result<Vec<(AddressRef, AddressRow)>, StoreError> {
        let mut select = self.statement(
            "SELECT ref, identity, device, certificate FROM address
             WHERE ref > ?1 ORDER BY ref LIMIT ?2",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let found = select.query_map((after.map_or(0, |it| it.0), limit), address::read)?;
        Ok(found.collect::<Result<_, _>>()?)
    }
}

impl WriteTransaction<'_> {
    /// Returns true if a conversation has a tombstone, and so if it has a message in the inbox; or
    /// a ciphertext that is parked or in the outbox. Sorts recent messages in.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn has_traces(&self, conversation: ConversationRef) -> Result<bool, StoreError> {
        self.sort_in()?;
        let mut select = self.statement(
            "SELECT EXISTS (SELECT 1 FROM seen WHERE conversation = ?1)
             OR EXISTS (SELECT 1 FROM parked WHERE conversation = ?1)
             OR EXISTS (SELECT 1 FROM outbox WHERE conversation = ?1)",
        )?;
        Ok(select.query_row([conversation.0], |row| row.get(0))?)
    }
}

//! Records of the application, in the transaction of its messages.

use alloc::vec::Vec;

use endseal_crypto::secret::Zeroizing;

use super::EngineTransaction;
use crate::{EngineError, PairwiseAccount};

/// The store's kind of the application's records of kind 0: those below are this crate's.
const FIRST: u32 = 1 << 16;

impl<A: PairwiseAccount> EngineTransaction<'_, '_, A> {
    /// The application's record of a kind and name.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn record(
        &self,
        kind: u16,
        name: &[u8],
    ) -> Result<Option<Zeroizing<Vec<u8>>>, EngineError> {
        Ok(self.transaction.record(stored(kind), name)?)
    }

    /// At most `limit` records of a kind with names behind `after`, in their order.
    ///
    /// # Errors
    /// [`EngineError`].
    #[allow(clippy::type_complexity, reason = "a list of names with their values")]
    pub fn records_after(
        &self,
        kind: u16,
        after: &[u8],
        limit: usize,
    ) -> Result<Vec<(Vec<u8>, Zeroizing<Vec<u8>>)>, EngineError> {
        Ok(self.transaction.records_after(stored(kind), after, limit)?)
    }

    /// Writes a record, in the place of the one of that kind and name.
    ///
    /// # Errors
    /// [`EngineError`]; among them a name beyond 64 bytes or a value beyond 16 MiB.
    pub fn put_record(&self, kind: u16, name: &[u8], value: &[u8]) -> Result<(), EngineError> {
        Ok(self.transaction.put_record(stored(kind), name, value)?)
    }

    /// Removes a record. Returns true if there was one.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn remove_record(&self, kind: u16, name: &[u8]) -> Result<bool, EngineError> {
        Ok(self.transaction.remove_record(stored(kind), name)?)
    }
}

fn stored(kind: u16) -> u32 {
    FIRST + u32::from(kind)
}

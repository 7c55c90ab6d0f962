//! Records of the application, which are written with its messages.

use alloc::vec::Vec;

use endseal_crypto::secret::Zeroizing;

use super::EngineTransaction;
use crate::{EngineError, PairwiseAccount};

/// Kind in the store of the application's records of kind 0. Lower kinds belong to this crate.
const FIRST: u32 = 1 << 16;

impl<A: PairwiseAccount> EngineTransaction<'_, '_, A> {
    /// Returns the application's record with this kind and name.
    ///
    /// # Errors
    /// [`EngineError`] if the store cannot be read.
    pub fn record(
        &self,
        kind: u16,
        name: &[u8],
    ) -> Result<Option<Zeroizing<Vec<u8>>>, EngineError> {
        Ok(self.transaction.record(stored(kind), name)?)
    }

    /// Returns up to `limit` records of a kind with names after `after`, in ascending order.
    ///
    /// # Errors
    /// [`EngineError`] if the store cannot be read.
    #[allow(clippy::type_complexity, reason = "a list of names with their values")]
    pub fn records_after(
        &self,
        kind: u16,
        after: &[u8],
        limit: usize,
    ) -> Result<Vec<(Vec<u8>, Zeroizing<Vec<u8>>)>, EngineError> {
        Ok(self.transaction.records_after(stored(kind), after, limit)?)
    }

    /// Writes a record; replaces the one with the same kind and name.
    ///
    /// # Errors
    /// [`EngineError`] if the name exceeds 64 bytes or the value 16 MiB, or the store fails.
    pub fn put_record(&self, kind: u16, name: &[u8], value: &[u8]) -> Result<(), EngineError> {
        Ok(self.transaction.put_record(stored(kind), name, value)?)
    }

    /// Deletes a record. Returns true if there was one.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails.
    pub fn remove_record(&self, kind: u16, name: &[u8]) -> Result<bool, EngineError> {
        Ok(self.transaction.remove_record(stored(kind), name)?)
    }
}

fn stored(kind: u16) -> u32 {
    FIRST + u32::from(kind)
}

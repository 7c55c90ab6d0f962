//! Checks a store for damage (docs/spec/store.md, "Checks").

use crate::error::{Finding, StoreError};
use crate::integrity;
use crate::store::Store;

/// Extent of a check: the parts of the store that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Depth {
    /// Tables, indices and the rules of the format: every page that is in use is read.
    Structure,
    /// Every page of the file besides, in use or not.
    ReadData,
}

impl Store {
    /// Returns the faults of the store; none if the list is empty.
    ///
    /// [`Depth::ReadData`] makes a [checkpoint](Self::checkpoint) first, so that the file is all
    /// there is. Nothing else is changed, and nothing is repaired.
    ///
    /// # Errors
    /// [`StoreError::Io`] if something could not be read at all, [`StoreError::Uncertain`].
    pub fn check(&mut self, depth: Depth) -> Result<Vec<Finding>, StoreError> {
        let found = self.find(depth);
        self.noted(found)
    }

    fn find(&mut self, depth: Depth) -> Result<Vec<Finding>, StoreError> {
        let mut findings = Vec::new();
        // First, because it reads the file itself: SQLCipher takes no more questions about tables
        // once a page was not authentic.
        if depth == Depth::ReadData {
            self.checkpoint()?;
            let sql = "PRAGMA cipher_integrity_check";
            integrity::collect(&mut findings, integrity::texts(self.connection()?, sql), |text| {
                page(&text)
            })?;
        }
        integrity::structure(self.connection()?, &mut findings)?;
        findings.dedup();
        self.note_check(findings.is_empty());
        Ok(findings)
    }
}

/// SQLCipher's "HMAC verification failed for page N".
fn page(text: &str) -> Finding {
    let number = text.strip_prefix("HMAC verification failed for page ");
    match number.and_then(|number| number.parse().ok()) {
        Some(page) => Finding::Page(page),
        None => Finding::Engine(text.to_owned()),
    }
}

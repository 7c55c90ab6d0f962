//! Names of conversations, and short references to them.

use rusqlite::OptionalExtension as _;

use crate::error::StoreError;
use crate::store::transaction::{ReadTransaction, WriteTransaction};
use crate::{limits, rows};

/// A reference to a conversation, of one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConversationRef(pub(crate) i64);

impl ReadTransaction<'_> {
    /// The reference to a conversation, if there is one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn find_conversation(&self, name: &[u8]) -> Result<Option<ConversationRef>, StoreError> {
        let mut select = self.statement("SELECT ref FROM conversation WHERE name = ?1")?;
        Ok(select.query_row([name], |row| row.get(0).map(ConversationRef)).optional()?)
    }

    /// The name of a conversation.
    ///
    /// # Errors
    /// [`StoreError::Reference`] if there is no such conversation.
    pub fn conversation_name(&self, conversation: ConversationRef) -> Result<Vec<u8>, StoreError> {
        let mut select = self.statement("SELECT name FROM conversation WHERE ref = ?1")?;
        let name = select.query_row([conversation.0], |row| rows::bytes(row, 0)).optional()?;
        name.ok_or(StoreError::Reference)
    }
}

impl WriteTransaction<'_> {
    /// The reference to a conversation, which is made if there is none.
    ///
    /// # Errors
    /// [`StoreError::Limit`] if the name has not 1 to 64 bytes.
    pub fn conversation_ref(&self, name: &[u8]) -> Result<ConversationRef, StoreError> {
        limits::name(name)?;
        if let Some(conversation) = self.find_conversation(name)? {
            return Ok(conversation);
        }
        let mut insert = self.statement("INSERT INTO conversation (name) VALUES (?1)")?;
        Ok(ConversationRef(insert.insert([name])?))
    }
}

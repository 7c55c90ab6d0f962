#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! | to do this | use |
//! |---|---|
//! | make, open, copy, check a store | [`Store`] |
//! | read | [`ReadTransaction`], from [`Store::read`] |
//! | read and write | [`WriteTransaction`], from [`Store::begin`] |
//! | take in a backlog | [`Messages`], from [`WriteTransaction::messages`] |
//!
//! The format is specified in `docs/spec/store.md` of the project.
//!
//! # What is durable when
//! Nothing of a transaction before [`WriteTransaction::commit`] returned, all of it afterwards.
//! Only then may a message be acknowledged, and only then may a ciphertext leave the machine. A
//! commit that failed may have happened: the store then refuses work until [`Store::reopen`] found
//! out ([`StoreError::Uncertain`]), and callers that hold states in memory MUST drop them.
//!
//! # One writer
//! An open store holds a lock of the kernel, which dies with the process. Nothing is cached across
//! openings: the next holder of the lock sees what the last one committed.
//!
//! No error deletes or overwrites anything.
#![forbid(unsafe_code)]

extern crate alloc;

pub mod hazmat;

mod address;
mod assembly;
mod backup;
mod check;
mod conversation;
mod cursor;
mod database;
mod delivered_index;
mod directory;
mod error;
mod export;
mod format;
mod group;
mod inbox;
mod inbox_table;
mod integrity;
mod key_file;
mod limits;
mod lock;
mod messages;
mod meta;
mod outbox;
mod parked;
mod prune;
mod record;
mod rows;
mod schema;
mod seen;
mod session;
mod statistics;
mod store;
#[cfg(test)]
mod tests;
mod trouble;
mod varint;
mod walk;

pub use address::{AddressRef, AddressRow};
pub use check::Depth;
pub use conversation::ConversationRef;
pub use endseal_crypto::argon2id::KdfParams;
pub use error::{
    BackupError, CreateStoreError, Finding, Limit, OpenStoreError, ReprotectError, RestoreError,
    StoreError,
};
pub use group::GroupRow;
pub use inbox::InboxRow;
pub use key_file::{OuterKey, Protection, ProtectionKind, Unlock};
pub use messages::{Messages, NewMessage};
pub use outbox::{OutboxRow, OutboxState};
pub use parked::{ParkedRow, ParkedTotal};
pub use prune::{PrunePosition, Pruned, Unused};
pub use seen::Seen;
pub use session::{SessionRow, SessionStatus, SessionSummary};
pub use statistics::Statistics;
pub use store::transaction::{ReadTransaction, WriteTransaction};
pub use store::{OpenOptions, Store};

/// Largest sizes that a store takes.
pub mod limit {
    pub use crate::limits::{MAX_BODY_LEN, MAX_NAME_LEN, MAX_STATE_LEN};
}

//! Conversations over an encrypted store, for libraries of other languages: owned types without
//! lifetimes and generics, all of them `Send` and `Sync`, and one error type with stable codes.
//!
//! | to do this | use |
//! |---|---|
//! | make and open a store with its device, decrypt a backlog | [`Engine`] |
//! | do several things, or none of them | [`Transaction`], from [`Engine::begin`] |
//!
//! It is a crate of its own, because libraries without conversations need no database.

mod address;
mod engine;
mod error;
mod group;
mod messages;
mod outcome;
mod store_secret;
mod transaction;
mod worker;

pub use address::{ConversationId, DeviceAddress};
pub use engine::{BatchOptions, Engine};
pub use error::SessionError;
pub use group::{GroupInfo, JoinedGroup};
pub use messages::{
    InboxKind, InboxMessage, IncomingMessage, MessageOrigin, OutboxKind, OutboxMessage,
};
pub use outcome::{BatchResult, MessageOutcome, ReleasedMessage};
pub use store_secret::StoreSecret;
pub use transaction::Transaction;

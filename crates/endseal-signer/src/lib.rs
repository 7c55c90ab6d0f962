//! Records of the Nostr remote signer and its audit log.
//!
//! | to do this | use |
//! |---|---|
//! | make, open, back up the store of a signer | [`SignerStore`] |
//! | read what is in force: users, apps, rules, what was seen | [`State`] |
//! | change it, and append to the audit log, all or nothing | [`StateTransaction`] |
//! | get the keys of users | [`SignerStore::unlock`] |
//! | verify the audit log | [`verify_log`] |
//!
//! The formats are in `docs/spec/signer.md`. Time and randomness are arguments.
//!
//! # What is durable when
//! Nothing before [`StateTransaction::commit`] returned, all of it afterwards. Only then may an
//! answer leave. A transaction that changed anything and was not committed makes the state stale:
//! [`SignerStore::recover`] loads it again.
#![forbid(unsafe_code)]

extern crate alloc;

mod bytes;
mod error;
mod keys;
mod log;
mod records;
mod signer_store;
mod state;
mod text;

pub use error::{
    CreateSignerError, ImportError, LoadError, OpenSignerError, RecordError, StateError,
    StateLimit, UnlockError,
};
pub use keys::SigningKeys;
pub use log::{LogBroken, LogFault, VerifyError, verify_log};
pub use records::app::{App, AppState, Flow, NotInvited};
pub use records::event::EventRecord;
pub use records::head::LogHead;
pub use records::line::{LogEntry, LogLine, LogMethod, LogVerdict, Matter};
pub use records::request::{RequestKey, RequestRecord};
pub use records::rule::RuleRecord;
pub use records::settings::Settings;
pub use records::user::User;
pub use signer_store::SignerStore;
pub use state::transaction::{Expired, StateTransaction};
pub use state::{AppRules, State};
pub use text::{BoundedText, TextTooLong};

/// Limits of `docs/spec/signer.md`.
pub mod limit {
    pub use crate::records::app::MAX_RELAYS;
    pub use crate::state::{
        KEPT_ENDED, KEPT_SEEN, MAX_APPS, MAX_EVENTS, MAX_REQUESTS, MAX_RULES, MAX_USERS,
    };
    pub use crate::text::{MAX_NAME, MAX_TEXT};
}

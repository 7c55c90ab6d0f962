#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! | to do this | use |
//! |---|---|
//! | create, open or run a signer | [`Signer`] |
//! | send commands to a running signer | [`control`] |
//! | say in words what a request is | [`words`], [`kind_name`] |
//! | use a remote signer as its client | [`client`] |
//! | speak to a device that holds a key | [`device`] |
//! | read and write its records | [`SignerStore`], [`State`], [`StateTransaction`] |
//! | verify the audit log | [`verify_log`] |
//!
//! Sessions and rules are specified in `docs/spec/nostr-connect.md`, records and the audit log in
//! `docs/spec/signer.md`. An event passes through the modules in one direction: `service` receives
//! it from a relay, `engine` turns it into a request, decides and executes it, `records` keep the
//! decision, and after the commit `service` publishes the response.
//!
//! # Durability
//! A change is durable once [`StateTransaction::commit`] has returned, and not before. Callers MUST
//! NOT send a response earlier. A transaction that changed anything and was not committed makes the
//! state stale; [`SignerStore::recover`] loads it again.
#![forbid(unsafe_code)]

extern crate alloc;

mod bytes;
pub mod client;
pub mod control;
pub mod device;
mod engine;
mod error;
mod keys;
mod kinds;
mod log;
mod log_rate;
mod metrics;
mod options;
mod passphrase_change;
mod records;
mod service;
mod signer;
mod signer_store;
mod state;
mod text;
pub mod words;

pub use error::{
    ChangePassphraseError, CreateSignerError, ImportError, LoadError, OpenSignerError, RecordError,
    StateError, StateLimit, UnlockError,
};
pub use keys::SigningKeys;
pub use kinds::kind_name;
pub use log::{LogBroken, LogFault, VerifyError, verify_log};
pub use options::{Listening, Options};
pub use records::app::{App, AppState, Flow, NotInvited};
pub use records::head::LogHead;
pub use records::line::{LogEntry, LogLine, LogMethod, LogVerdict, Matter};
pub use records::rule::RuleRecord;
pub use records::settings::Settings;
pub use records::user::User;
pub use service::RunError;
pub use signer::Signer;
pub use signer_store::SignerStore;
pub use state::memory::Decision;
pub use state::transaction::{Expired, StateTransaction};
pub use state::{AppRules, State};
pub use text::{BoundedText, TextTooLong};

/// Limits of `docs/spec/signer.md`.
pub mod limit {
    pub use crate::records::app::MAX_RELAYS;
    pub use crate::state::{KEPT_ENDED, KEPT_SEEN, MAX_APPS, MAX_EVENTS, MAX_RULES, MAX_USERS};
    pub use crate::text::{MAX_NAME, MAX_TEXT};
}

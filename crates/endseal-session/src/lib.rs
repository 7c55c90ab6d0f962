//! Sessions: conversations whose keys move on with every message (docs/spec/session.md).
//!
//! | to do this | use |
//! |---|---|
//! | open a backlog, send, do several things at once | [`Engine`] |
//! | read what arrived, send what waits | [`Inbox`], [`Outbox`] |
//! | tell what a message is | [`Message`] |
//! | carry messages between stores in files | [`FileRecord`], [`FileRecords`] |
//! | talk with one device | [`PairwiseAccount`], [`Ratchet`], here [`olm`] |
//! | talk with many devices | [`group`] |
//!
//! Addresses, certificates and prekey bundles of devices are types of [`endseal_keyring::device`].
#![forbid(unsafe_code)]

extern crate alloc;

mod batch_options;
mod binding;
mod engine;
mod envelope;
mod error;
mod fields;
mod file_record;
pub mod group;
mod message;
mod outcome;
mod pairwise;
mod plaintext;
mod session_info;

pub use batch_options::{BatchOptions, Durability};
pub use binding::Binding;
pub use engine::{
    BetweenCommits, ChunkReport, ConversationId, Correspondent, Engine, EngineTransaction,
    GroupSummary, Inbox, JoinedGroup, NewDevice, Notice, Outbox, Outgoing, OutgoingKind,
    ParkedMessage, ParkedTotal, Pending, PrunePolicy, Pruned, Received, ReceivedKind, SentToAll,
    UnknownSenders,
};
pub use envelope::{Envelope, MAX_ID_LEN, Origin};
pub use error::{BatchError, BeginSessionError, EngineError, GroupChangeError, SendError};
pub use file_record::{FileRecord, FileRecordError, FileRecords, FileRoute};
pub use message::{
    MAX_MESSAGE_LEN, MAX_PLAINTEXT_LEN, Message, MessageError, RatchetBody, SessionTag,
};
pub use outcome::{BatchReport, Failure, Outcome, Released};
pub use pairwise::{
    AcceptError, AccountKeys, BeginError, ChainPlace, OpenError, PairwiseAccount, Ratchet,
    RatchetLimits, SealError, Sealed, StateError, WrongCertificate, olm,
};
pub use plaintext::PlaintextHead;
pub use session_info::SessionInfo;

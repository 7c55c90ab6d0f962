#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! The formats are specified in `docs/spec/session.md` of the project.
//!
//! | to do this | use |
//! |---|---|
//! | decrypt a backlog, send, combine operations | [`Engine`] |
//! | read decrypted messages, send ciphertexts | [`Inbox`], [`Outbox`] |
//! | find the kind of a message | [`Message`] |
//! | carry messages between stores in files | [`FileRecord`], [`FileRecords`] |
//! | use sessions with one device directly | [`PairwiseAccount`], [`Ratchet`], here [`olm`] |
//! | use groups directly | [`group`] |
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
    ParkedMessage, ParkedTotal, Pending, PreparedKeys, PrunePolicy, Pruned, Received, ReceivedKind,
    SentToAll, UnknownSenders,
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

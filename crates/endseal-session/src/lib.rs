//! Sessions: conversations whose keys move on with every message (docs/spec/session.md).
//!
//! | to do this | use |
//! |---|---|
//! | name a device of somebody | [`Address`] |
//! | vouch for the keys of a device | [`Certificate`] |
//! | let others begin a session | [`PrekeyBundle`] |
//! | compare identities by voice | [`SafetyNumber`] |
//! | tell what a message is | [`Message`] |
//! | talk with one device | [`PairwiseAccount`], [`Ratchet`], here [`olm`] |
//! | talk with many devices | [`group`] |
#![forbid(unsafe_code)]

extern crate alloc;

mod address;
mod bundle;
mod certificate;
mod fields;
pub mod group;
mod message;
mod pairwise;
mod safety_number;

pub use address::{Address, DeviceId};
pub use bundle::{BundleError, PrekeyBundle, PrekeyKind};
pub use certificate::{Certificate, CertificateError, DeviceKeys, Succession};
pub use message::{MAX_MESSAGE_LEN, MAX_PLAINTEXT_LEN, Message, MessageError, SessionTag};
pub use pairwise::{
    AcceptError, AccountKeys, BeginError, OpenError, PairwiseAccount, Ratchet, RatchetBody,
    RatchetLimits, SealError, Sealed, StateError, WrongCertificate, olm,
};
pub use safety_number::SafetyNumber;

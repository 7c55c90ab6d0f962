#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! | to do this | use |
//! |---|---|
//! | print or read a public identity | [`IdentityText`] |
//! | print or read a peer id | [`PeerIdText`] |
//! | keep a secret identity at rest | [`IdentityFile`] with a [`Passphrase`] |
//! | move a secret identity by hand | [`SecretText`] |
//! | keep a root seed on paper | [`PaperText`] |
//! | ask a device of the same person to link a new one | [`LinkRequest`] |
//! | keep the identities of others under names | [`Contacts`] |
//! | the same with the machines that may connect | [`Peers`] |
//! | say at which address a hub is | [`AddressNote`] |
//! | say who belongs to a group, epoch by epoch | [`roster`] |
//! | say which devices a person has | [`person`] |
//! | vouch for the keys of a device, let others begin a session with it | [`device`] |
//! | compare identities by voice | [`device::SafetyNumber`] |
//!
//! The formats are specified in `docs/spec/identity.md`, `docs/spec/roster.md` and, for devices,
//! `docs/spec/session.md` of the project.
//!
//! # Crate features
//! * `std` (default): passes `std` on to `endseal-crypto`. Results are the same bytes without it.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod address_book;
pub mod device;
pub mod hazmat;
pub mod identity_file;
pub mod person;
pub mod protection;
pub mod roster;

mod address_note;
mod bech32m;
mod contacts;
mod identity_text;
mod invitation_text;
mod lines;
mod link_text;
mod name;
mod numerals;
mod paper_text;
mod passphrase;
mod peer_id_text;
mod peers;
mod secret_text;

pub use address_note::{AddressNote, OpenAddressNoteError, SignAddressesError};
pub use contacts::Contacts;
pub use endseal_crypto::argon2id::{InvalidKdfParams, KdfParams};
pub use identity_file::IdentityFile;
pub use identity_text::{ForeignKey, IdentityText, ParseIdentityError};
pub use invitation_text::{Invitation, Inviter, JoinToken, ParseInvitationError};
pub use lines::{LineProblem, Malformed};
pub use link_text::{LinkRequest, LinkSecret, ParseLinkError};
pub use name::{InvalidName, Name};
pub use paper_text::{PaperText, ParsePaperError};
pub use passphrase::{InvalidPassphrase, Passphrase};
pub use peer_id_text::{ParsePeerIdError, PeerIdText};
pub use peers::Peers;
pub use person::PersonRecord;
pub use roster::Roster;
pub use secret_text::{ParseSecretError, SecretText};

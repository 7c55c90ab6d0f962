#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! The formats and their limits are specified in the project: in `docs/spec/nostr.md` (encryption),
//! `docs/spec/nostr-connect.md` (a signer's answers) and `docs/spec/nostr-events.md` (the rest).
//!
//! | to do this | use |
//! |---|---|
//! | parse, verify, sign, write an event | [`event`] |
//! | read and write keys as text | [`key`] |
//! | read and write what people share (`npub`, `nevent`, `nostr:`) | [`entity`] |
//! | answer requests of remote signing, read and write its URIs | [`connect`] |
//! | decide about them | [`policy`] |
//! | encrypt between two keys | [`nip44`]; [`nip04`] for clients that know nothing else |
//! | send a private message | [`gift_wrap`] |
//! | keep a secret key under a password | `encrypted_key` (`std` or `encrypted-key`) |
//!
//! # Crate features
//! * `std` (default): encrypted secret keys (NIP-49), and the curve by libsecp256k1 instead of
//!   portable code.
//! * `encrypted-key`: encrypted secret keys without `std`. The caller normalises passwords, and has
//!   an allocator that zeroes what it frees.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

#[cfg(feature = "std")]
extern crate alloc;

pub mod bech32;
pub mod connect;
#[cfg(any(feature = "std", feature = "encrypted-key"))]
pub mod encrypted_key;
pub mod entity;
pub mod event;
pub mod gift_wrap;
pub mod hex;
pub mod json;
pub mod key;
pub mod nip04;
pub mod nip44;
pub mod output;
pub mod policy;
mod relays;

pub use relays::{RelayIter, Relays};

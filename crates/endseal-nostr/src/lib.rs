//! Nostr events, encryption and gift wraps, in buffers of the caller.
//!
//! `no_std` and without an allocator: it runs on a microcontroller. The formats and their limits
//! are in `docs/spec/nostr.md`.
//!
//! # Crate features
//! * `std` (default): encrypted secret keys (NIP-49), and the curve by libsecp256k1 instead of
//!   k256.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod hex;
pub mod json;
pub mod output;

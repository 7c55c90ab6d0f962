//! Nostr events, encryption and remote signing for C and C++ on microcontrollers.
//!
//! `endseal_nostr.h` is the interface; cbindgen writes it from [`abi`] and [`status`]. Nothing here
//! allocates and nothing is global: a caller owns each context, which holds the scratch memory and
//! the functions that the caller provides. Modules besides `abi` have no unsafe code.
#![no_std]
#![deny(unsafe_code)]

#[allow(unsafe_code)]
pub mod abi;
mod aes;
mod arena;
mod encryption;
mod event;
mod keys;
mod platform;
mod remote_signing;
pub mod status;

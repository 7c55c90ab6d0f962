//! A hardware signer for Nostr, without its board: `docs/spec/signer-device.md`.
//!
//! | to do this | use |
//! |---|---|
//! | give the program a board | [`Board`] |
//! | answer the requests of a host | [`Device`] |
//! | turn raw bits of a ring oscillator into random bytes | [`Conditioner`] |
//!
//! Nothing allocates and nothing waits without a limit. A board calls [`Device::poll`] forever.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod board;
mod button;
mod device;
mod entropy;
mod error;
mod line;
mod record;
mod request;
mod store;

pub use board::{Board, NoRandomness};
pub use device::{Buffers, Device, MAX_LINE};
pub use entropy::Conditioner;
pub use record::{Confirmation, InvalidRecord, Record};
pub use store::{SECTOR, STORE_LEN};

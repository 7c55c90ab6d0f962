#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! | to do this | use |
//! |---|---|
//! | keep a connection to a relay, receive and publish | [`client`] |
//! | name a relay, and decide which addresses may be reached | [`address`] |
//! | answer a challenge of a relay | [`auth`] |
//! | read and write single messages | [`message`] |
//!
//! # Limits
//! | of | limit | reason |
//! |---|---|---|
//! | URL of a relay | [`address::MAX_LEN`] bytes | query parameters fit, and it is read by people |
//! | message received | 1 MiB by default | twice the largest `max_message_length` in use |
//! | subscription id | [`message::MAX_SUBSCRIPTION_LEN`] characters | NIP-01 |
//! | filters in a `REQ` | [`message::MAX_FILTERS`] | each costs a comparison for each event |
//! | values in a list of a filter | [`message::MAX_VALUES`] | as filters |
//! | challenge | [`message::MAX_CHALLENGE_LEN`] bytes | it is signed, several times |
//! | challenges on a connection | [`client::MAX_CHALLENGES`] | each costs a signature for each key |
//! | head of an HTTP answer | 16 KiB | relays and proxies send less than 4 KiB |
//! | information document | 64 KiB, 5 s | it is optional |
//! | unsent events | count, bytes and age, in [`client::Limits`] | a relay may be away for days |
#![forbid(unsafe_code)]

extern crate alloc;

pub mod address;
pub mod auth;
pub mod client;
mod connect;
pub mod message;

pub use connect::{ConnectError, Proxy, SocksError, UpgradeError};
pub use endseal_service::{InvalidAuthority, Trust};

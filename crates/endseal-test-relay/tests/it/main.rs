//! The client of endseal-relay against the relay of this crate, with and without faults, and both
//! against peers that break the rules.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core, reason = "these are tests")]

mod addresses;
mod authentication;
mod bad_relays;
mod faults;
mod fixture;
mod limits;
mod messages;
mod protocol;
mod proxies;
mod reconnection;
mod tls;

//! Tests of the crate's public interface.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

mod contacts;
mod device;
mod identity_file;
mod identity_text;
#[cfg(feature = "std")]
mod paper;
mod people;
#[cfg(feature = "std")]
mod person;
mod roster;
mod roster_chain;
mod roster_history;
mod roster_rights;
#[cfg(target_os = "linux")]
mod secrets;
mod vectors;

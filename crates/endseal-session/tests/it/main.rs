//! The crate from outside.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]

mod device;
mod formats;
mod model;
mod prekeys;
mod random;
mod ratchet;
mod states;
mod vectors;

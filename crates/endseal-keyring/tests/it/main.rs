//! The crate from outside.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;
mod identity;
mod roster;

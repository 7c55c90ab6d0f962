//! The crate from outside: real files in scratch folders.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod atomic;
mod demo;
mod groups;
mod home;
mod pair;
mod scratch;
mod transfer_vectors;

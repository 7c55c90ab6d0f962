//! Tests of the public API, with real files in scratch folders.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

extern crate alloc;

mod api_vectors;
mod archive;
mod archive_vectors;
mod atomic;
mod both_ways;
mod groups;
mod home;
mod install;
mod messages;
mod node_vectors;
mod pair;
mod person;
mod quota;
mod receipts;
mod sessions;
mod stalled;
mod transfer_vectors;

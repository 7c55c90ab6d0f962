//! Tests of the hub through its public interface, with real connections and a real database.
#![forbid(unsafe_code)]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core, reason = "tests have std")]

mod bounds;
mod contention;
mod conversations;
mod database;
mod directory;
mod faults;
mod mailboxes;
mod metrics;
mod migration;
mod pending;
mod puts;
mod quotas;
mod readiness;
mod recovery;
mod repeated;
mod shared;
mod store;
mod world;

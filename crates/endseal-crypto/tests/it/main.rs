//! The public functions against published vectors, and properties that users rely on.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]

mod ed25519;
mod secrets;
mod wycheproof;
mod x25519;

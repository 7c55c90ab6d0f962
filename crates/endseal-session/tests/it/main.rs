//! Tests of the crate's public API.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "long ones say what they did")]
#![allow(clippy::std_instead_of_alloc, reason = "tests have std")]

mod conversation_vectors;
mod device;
mod engine;
#[path = "../../../endseal-store/tests/faults/faults.rs"]
mod faults;
mod formats;
mod group;
mod model;
mod prekeys;
mod ratchet;
mod session_file;
mod states;
mod vectors;

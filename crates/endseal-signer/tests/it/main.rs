//! Integration tests of endseal-signer.
#![forbid(unsafe_code)]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests are tests"
)]
#![allow(clippy::print_stdout, reason = "long ones say what they did")]
#![allow(clippy::std_instead_of_alloc, reason = "tests have std")]

mod deploy;
mod device;
#[path = "../../../endseal-store/tests/faults/faults.rs"]
mod faults;
mod flood;
mod log;
mod media;
mod page;
mod records;
mod remote;
mod remote_liar;
mod size;
mod state;
mod users;
mod vectors;
mod world;

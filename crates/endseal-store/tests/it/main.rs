//! The crate from outside.
#![forbid(unsafe_code)]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests are tests"
)]

mod batches;
#[path = "../faults/faults.rs"]
mod faults;
mod lifecycle;
mod media;
mod place;
mod tables;
mod vectors;

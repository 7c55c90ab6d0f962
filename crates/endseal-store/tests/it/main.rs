//! Tests of the crate's public interface.
#![forbid(unsafe_code)]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests are tests"
)]

extern crate alloc;

mod batches;
mod copies;
mod damage;
mod durability;
#[path = "../faults/faults.rs"]
mod faults;
mod inbox;
mod lifecycle;
mod many;
mod media;
mod place;
mod processes;
mod protection;
mod recent;
mod tables;
mod vectors;

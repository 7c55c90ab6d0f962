//! Helpers of the workspace's tests: repeatable choices, temporary directories, and files of test
//! vectors. A development dependency only.

#![forbid(unsafe_code)]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a failure fails the test that met it")]

mod scratch;
mod split_mix;
mod vector;

pub use scratch::Scratch;
pub use split_mix::SplitMix64;
pub use vector::{Vector, hex};

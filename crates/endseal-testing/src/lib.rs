//! Helpers of the workspace's tests: repeatable choices and temporary directories. A development
//! dependency only.

#![forbid(unsafe_code)]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a failure fails the test that met it")]

mod scratch;
mod split_mix;

pub use scratch::Scratch;
pub use split_mix::SplitMix64;

//! Sessions from outside.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

extern crate alloc;

mod group;

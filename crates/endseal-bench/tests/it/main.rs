//! The report from outside: what a reader of it relies on.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core, reason = "std only")]

mod compare;
mod fixture;
mod report;
mod schema;

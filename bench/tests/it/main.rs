//! Tests of the benchmark: peers that follow the protocol and peers that do not, whole runs, and
//! the report.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core, reason = "std only")]

mod compare;
mod fixture;
mod peers;
mod program;
mod reading;
mod report;
mod run;
mod suites;
mod vectors;

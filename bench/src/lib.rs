//! The library of `endseal-bench`: workloads, subjects, statistics and report.
//!
//! The harness makes a figure believable, not the subjects: every subject is checked before it is
//! timed, all subjects of a case are measured in shuffled rounds of short batches, a ratio is the
//! median of the ratios of rounds with its interval, and a difference smaller than that of a
//! subject from itself is called no difference.
#![deny(unsafe_code)]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "starts processes and reads clocks: there is no other way than std"
)]

#[allow(unsafe_code)]
pub mod allocation;
mod batch;
mod bunker;
pub mod calibration;
pub mod case;
pub mod clock;
pub mod compare;
mod duplex;
pub mod environment;
mod noise;
pub mod ours;
pub mod peer;
pub mod peers;
pub mod program;
pub mod record;
pub mod report;
pub mod roles;
mod rows;
pub mod run;
mod s3;
mod scratch;
pub mod stats;
pub mod subject;
pub mod suite;
pub mod words;

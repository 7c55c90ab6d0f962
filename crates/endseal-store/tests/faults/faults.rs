//! Media faults and power cuts for a program that does not know of them.
//!
//! A worker is a child process with `shim.c` preloaded. It either gets an error at a chosen
//! operation, or leaves a log of everything that it did to its directory. From the log, [`Medium`]
//! computes the directories that a power cut could have left.
//!
//! Other crates that keep their state in a store include this module by its path.
#![allow(dead_code, unused_imports, reason = "not every crate that includes this uses all of it")]
#![allow(clippy::std_instead_of_alloc, reason = "nor names alloc")]

mod medium;
mod record;
mod shim;

pub(crate) use medium::{Medium, WAYS};
pub(crate) use record::{Action, read_log};
pub(crate) use shim::{Fault, Kind, Shim};

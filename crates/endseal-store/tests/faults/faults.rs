//! Media that fail and power that goes, below a program that knows nothing of it.
//!
//! A worker is a child process with `shim.c` preloaded: it either gets errors at a chosen
//! operation, or leaves a log of all that it did to its directory. From the log, [`Medium`] makes
//! the directories that a power cut could have left.
//!
//! Other crates whose state lives in a store include this by path.
#![allow(dead_code, unused_imports, reason = "not every crate that includes this uses all of it")]
#![allow(clippy::std_instead_of_alloc, reason = "nor names alloc")]

mod medium;
mod record;
mod shim;

pub(crate) use medium::{Medium, WAYS};
pub(crate) use record::{Action, read_log};
pub(crate) use shim::{Fault, Kind, Shim};

//! Peers that behave and peers that do not, and a whole run.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]
#![allow(clippy::std_instead_of_core, reason = "there is no other way than std")]

mod peers;
mod run;
mod vectors;

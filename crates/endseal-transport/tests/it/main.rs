//! Tests of the transport's public API over real sockets, through a proxy that delays, loses and
//! reorders datagrams.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core, reason = "as in the crate")]

mod authentication;
mod backoff;
mod capture;
mod crowd;
mod early;
mod faults;
mod hostile;
mod impostors;
mod memory;
mod packets;
mod pair;
mod prefix;
mod proxy;
mod raw;
mod renewal;
mod round_trips;
mod streams;
mod vectors;

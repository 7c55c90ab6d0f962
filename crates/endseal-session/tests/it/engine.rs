//! The engine: backlogs, transactions, redelivery, restarts.

mod aborts;
mod batch;
mod buffers;
mod party;
mod sessions;
mod windows;

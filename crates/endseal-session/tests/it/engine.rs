//! The engine: backlogs, transactions, redelivery, restarts, and everything that can go wrong.

mod aborts;
mod batch;
mod buffers;
mod histories;
mod kills;
mod lanes;
mod media;
mod party;
mod sessions;
mod windows;
mod worker;
mod world;

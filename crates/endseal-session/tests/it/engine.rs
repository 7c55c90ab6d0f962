//! The engine: backlogs, transactions, redelivery, restarts.

mod batch;
mod party;

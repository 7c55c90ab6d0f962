//! The hub: keeps for the nodes of a team what it cannot read (docs/spec/delivery.md).
//!
//! A request passes the modules in one direction: `service` (connections and exchanges), `writer`
//! (what arrived together becomes one transaction), `desk` (the rules, on the devices in memory),
//! `store` (the database). Answers go back after the commit. Mailboxes are read by `reader` beside
//! the writer.
#![forbid(unsafe_code)]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "there is nothing here without std"
)]

mod budget;
mod command;
mod desk;
mod directory;
mod error;
mod limits;
mod metrics;
mod reader;
mod service;
mod store;
mod writer;

pub use error::ServeError;
pub use limits::HubLimits;
pub use service::Hub;
pub use store::{
    Deleted, Delivery, DeviceRow, DeviceState, HubReader, HubStore, HubTransaction, SqliteStore,
    StorageError, StoreState,
};

#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! The protocol is specified in `docs/spec/delivery.md` of the project.
//!
//! A request passes through the modules in this order: `service` handles connections and exchanges;
//! `writer` combines the commands that arrive together into one transaction; `rules` applies the
//! delivery rules to the devices in memory; `store` is the database. Answers are sent after the
//! commit. A separate thread, `reader`, reads mailboxes while the writer works.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "there is nothing here without std"
)]

mod budget;
mod command;
mod current_address;
mod digest;
mod directory;
mod error;
mod expiry_clock;
mod limits;
mod metrics;
mod reader;
mod rules;
mod service;
mod store;
mod writer;

pub use error::ServeError;
pub use limits::HubLimits;
pub use service::Hub;
#[cfg(feature = "postgres")]
pub use store::PostgresStore;
pub use store::{
    Cell, ChangeListener, ColumnType, Deleted, DeletedShare, Delivery, DeviceRow, DeviceState,
    GroupRow, GroupState, GroupTotals, HubReader, HubStore, HubTransaction, Importer, Mailbox,
    Migrations, OpenInvitation, Outdated, Quota, ShareChange, Space, SqliteStore, StorageError,
    StoreState, Table, migrate,
};

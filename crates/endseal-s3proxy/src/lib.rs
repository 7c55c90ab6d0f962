//! An S3 proxy that seals what passes through it: any S3 client in front, any S3 server behind.
//!
//! | to do this | use |
//! |---|---|
//! | run a proxy | [`Config`], [`Proxy`], [`Server`] |
//! | make what a proxy over a folder needs | [`set_up`] |
//! | clean up after uploads, wrap the keys of objects anew | [`maintenance`] |
//! | keep what names are encrypted under | [`name_secret`] |
//! | talk to the server behind | [`client`] |
#![forbid(unsafe_code)]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "there is nothing here without std"
)]

extern crate alloc;

pub mod access;
mod body;
pub mod bucket;
pub mod client;
mod client_key;
pub mod config;
mod content_checksum;
mod daemon;
mod front;
mod glob;
mod handler;
mod headers;
mod log;
mod loopback;
pub mod maintenance;
mod metrics;
pub mod name_secret;
mod proxy;
mod server;
pub mod set_up;
mod start;
mod workers;

pub use body::Outgoing;
pub use config::Config;
pub use daemon::{Listening, RunError, run};
pub use glob::Glob;
pub use log::{Entry, Log, Silent};
pub use metrics::{Metrics, MetricsServer};
pub use proxy::Proxy;
pub use server::Server;
pub use start::StartError;

//! An S3 proxy that seals what passes through it: any S3 client in front, any S3 server behind.
//!
//! | to do this | use |
//! |---|---|
//! | run a proxy | [`Config`], [`Proxy`], [`Server`] |
//! | keep objects in a folder, without a server behind | [`folder`] |
//! | clean up after uploads, wrap the keys of objects anew | [`maintenance`] |
//! | keep what names are encrypted under | [`name_secret`] |
//! | talk to the server behind | [`client`] |
//! | verify and make signatures | [`sigv4`] |
//! | take the content out of a chunked upload | [`aws_chunked`] |
//! | compute and compare checksums | [`checksum`] |
//! | read and write S3's documents | [`xml`] |
#![forbid(unsafe_code)]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "there is nothing here without std"
)]

extern crate alloc;

pub mod access;
pub mod aws_chunked;
mod body;
pub mod bucket;
mod byte_range;
pub mod checksum;
pub mod client;
pub mod config;
mod content_checksum;
mod daemon;
mod error;
pub mod folder;
mod front;
mod glob;
mod handler;
mod headers;
mod log;
mod loopback;
pub mod maintenance;
mod metrics;
pub mod name_secret;
mod operation;
mod proxy;
mod server;
pub mod sigv4;
mod start;
mod target;
mod workers;
pub mod xml;

pub use body::Outgoing;
pub use config::Config;
pub use daemon::{Listening, RunError, run};
pub use error::S3Error;
pub use glob::Glob;
pub use log::{Entry, Log, Silent};
pub use metrics::{Metrics, MetricsServer};
pub use operation::Operation;
pub use proxy::Proxy;
pub use server::Server;
pub use start::StartError;

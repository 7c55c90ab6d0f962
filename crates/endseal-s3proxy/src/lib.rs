#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! | to do this | use |
//! |---|---|
//! | create the files that a proxy over a folder needs | [`set_up`] |
//! | clean up after uploads, rewrap the keys of objects | [`admin`] |
//! | store the secret that encrypts names | [`names`] |
//! | send requests to the backend | [`upstream`] |
#![forbid(unsafe_code)]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "there is nothing here without std"
)]

extern crate alloc;

pub mod access;
pub mod admin;
pub mod bucket;
mod completions_in_progress;
pub mod config;
mod content_checksum;
mod content_keys;
mod context;
pub mod credentials;
mod forward;
mod glob;
mod headers;
pub mod name_secret;
pub mod names;
pub mod network;
mod observability;
mod operations;
mod parallel_parts;
mod sealed_object;
mod server;
pub mod set_up;
mod start;
mod transfer;
pub mod upstream;

pub use config::Config;
pub use context::Proxy;
pub use glob::Glob;
pub use observability::Metrics;
pub use server::{Listening, MetricsServer, RunError, Server, run};
pub use start::StartError;
pub use transfer::Outgoing;

#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! | to do this | use |
//! |---|---|
//! | write metrics in Prometheus' text format | [`MetricsText`], [`Histogram`] |
//! | serve `/metrics`, `/healthz` and `/readyz` | [`operator_page::serve`] |
//! | serve pages to the browser of the person who runs the service | [`browser_page::Site`] |
//! | serve HTTP/1.1 to few clients, with bounds | [`http_server::serve`] |
//! | take commands from processes of the same user | [`control`] |
//! | connect by TLS to servers of known authorities | [`Trust`] |
//! | end at SIGINT and SIGTERM | [`stop_signal`] |
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "there is nothing here without std"
)]

#[cfg(feature = "page")]
pub mod browser_page;
#[cfg(feature = "control")]
pub mod control;
mod histogram;
#[cfg(feature = "http")]
pub mod http_server;
mod metrics_text;
#[cfg(feature = "http")]
pub mod operator_page;
#[cfg(feature = "signals")]
mod signals;
#[cfg(feature = "trust")]
mod trust;

pub use histogram::Histogram;
pub use metrics_text::{MetricKind, MetricsText};
#[cfg(feature = "signals")]
pub use signals::stop_signal;
#[cfg(feature = "trust")]
pub use trust::{InvalidAuthority, Trust};

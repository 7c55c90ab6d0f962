//! Metrics and warnings for operators.

pub(crate) mod failure;
mod metrics;

pub use metrics::Metrics;

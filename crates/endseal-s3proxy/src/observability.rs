//! Counters and access lines, for operators.

mod log;
mod metrics;

pub use log::{Entry, Log, Silent};
pub use metrics::Metrics;
pub(crate) use metrics::{head, series};

//! The side towards clients: connections, and requests from their first byte to their answer.

mod daemon;
mod error_response;
mod health;
mod listener;
mod metrics;
mod request_id;
mod service;
mod slow_peer;
mod workers;

pub use daemon::{Listening, RunError, run};
pub use listener::Server;
pub use metrics::MetricsServer;

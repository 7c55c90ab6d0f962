//! HTTP server for clients: connections, and requests from the first byte to the response.

mod client_address;
mod client_connections;
mod daemon;
mod error_details;
mod error_response;
mod forwarded_for;
mod generation;
mod health;
mod listener;
mod long_answer;
mod metrics;
mod proxy_header;
mod reload;
mod request_id;
mod service;
mod slow_peer;
mod tls;
mod workers;

pub use daemon::{Listening, RunError, run};
pub use listener::Server;
pub use metrics::MetricsServer;

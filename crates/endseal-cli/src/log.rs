//! Events of the S3 proxy as lines of JSON on standard error.

use std::io;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Layer as _, fmt, registry};

/// The least level of what is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Level {
    /// Nothing
    Off,
    /// Failures with their causes
    Warn,
    /// Requests, too
    Info,
}

/// Begins to tell the events of this process. Those of libraries are not told: they could have anything in them.
///
/// # Errors
/// Events are told already.
pub(crate) fn start(level: Level) -> io::Result<()> {
    let level = match level {
        Level::Off => return Ok(()),
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
    };
    let ours =
        Targets::new().with_targets(["access", "failure", "reload"].map(|target| (target, level)));
    let lines = fmt::layer().json().flatten_event(true).with_current_span(false);
    let lines = lines.with_span_list(false).with_writer(io::stderr).with_filter(ours);
    tracing::subscriber::set_global_default(registry().with(lines)).map_err(io::Error::other)
}

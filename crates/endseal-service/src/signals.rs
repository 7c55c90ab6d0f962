//! The signals that end a process, SIGINT and SIGTERM, as a future.

use core::future::Future;
use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// Waits for SIGINT or SIGTERM. The handlers are there once this returns; before that a signal ends
/// the process at once.
///
/// # Errors
/// That of the system, if it has no handlers left.
///
/// # Panics
/// Outside a tokio runtime with I/O.
pub fn stop_signal() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

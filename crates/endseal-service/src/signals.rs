//! The signals that end a process, SIGINT and SIGTERM, as a future.

use core::future::Future;
use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// Waits for SIGINT or SIGTERM. The handlers are installed when this function returns its future;
/// before that a signal ends the process at once.
///
/// # Errors
/// Returns the error of the operating system if a handler cannot be installed.
///
/// # Panics
/// Panics outside a tokio runtime with I/O enabled.
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

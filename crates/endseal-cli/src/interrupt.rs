//! Interruption of commands by SIGINT and SIGTERM.
//!
//! Without this module a signal ends the process by default action, so that a loop in a script ends
//! too. For commands with `--json` the signals are handled: their failure is a JSON object.

use core::sync::atomic::{AtomicBool, Ordering::SeqCst};
use core::time::Duration;
use std::io::{self, Write as _};
use std::process;
use std::sync::mpsc::sync_channel;
use std::thread;

use endseal_service::stop_signal;
use tokio::runtime::Builder;

use crate::failure::{Failure, Kind};

/// Time to wait until the failure is read from standard error.
const TIMEOUT: Duration = Duration::from_secs(1);

/// True if the command handles signals itself.
static IS_RELEASED: AtomicBool = AtomicBool::new(false);

/// Starts to handle signals. A signal prints the failure as a JSON object, and ends the process
/// with the code of [`Kind::Interrupted`], unless the command handles signals itself ([`release`]).
///
/// # Errors
/// Fails if the system has no thread or file descriptor left.
pub(crate) fn watch() -> Result<(), Failure> {
    start().map_err(|error| {
        Failure::new(Kind::Environment, "cannot watch for signals").because(&error)
    })
}

fn start() -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let guard = runtime.enter();
    let stopping = stop_signal()?;
    drop(guard);
    let wait = async move {
        stopping.await;
        if !IS_RELEASED.load(SeqCst) {
            tell(true);
            process::exit(Kind::Interrupted.code().into());
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(wait))?;
    Ok(())
}

/// Leaves signals to the command, which MUST have installed its own handlers before.
pub(crate) fn release() {
    IS_RELEASED.store(true, SeqCst);
}

/// Prints the failure on standard error. Stops waiting after one second if it is not read.
pub(crate) fn tell(as_json: bool) {
    let failure = Failure::new(Kind::Interrupted, "interrupted");
    let text = if as_json { format!("{}\n", failure.json()) } else { failure.text() };
    let (done, told) = sync_channel(1);
    let print = move || {
        // If this fails, the exit code still reports it.
        let _ = io::stderr().write_all(text.as_bytes());
        let _ = done.send(());
    };
    if thread::Builder::new().spawn(print).is_ok() {
        let _ = told.recv_timeout(TIMEOUT);
    }
}

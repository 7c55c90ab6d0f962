//! Interruption of commands by SIGINT and SIGTERM.
//!
//! Without this module a signal ends the process by itself, so that a loop in a script ends, too.
//! Commands with `--json`, and those that leave something behind, are watched.

use core::time::Duration;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::{Failure, Kind};

/// Time for the failure to be read from standard error.
const PATIENCE: Duration = Duration::from_secs(1);
/// Attempts to remove a folder into which the command still writes, and the time between them.
const ATTEMPTS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// Locked for good when the process ends.
static WATCH: Mutex<Watch> =
    Mutex::new(Watch { is_on: false, is_released: false, child: None, folder: None });

struct Watch {
    is_on: bool,
    /// True if the command handles signals itself.
    is_released: bool,
    /// Killed at an interruption.
    child: Option<Pid>,
    /// Removed at an interruption.
    folder: Option<PathBuf>,
}

/// Begins to watch, unless that has begun. A signal removes the folder of [`make_folder`], prints
/// the failure, as a JSON object if `as_json`, and ends the process with the code of
/// [`Kind::Interrupted`].
///
/// # Errors
/// If the system gives no thread or descriptor.
pub(crate) fn watch(as_json: bool) -> Result<(), Failure> {
    let mut watch = lock();
    if !watch.is_on {
        start(as_json).map_err(|error| {
            Failure::new(Kind::Environment, "cannot watch for signals").because(&error)
        })?;
        watch.is_on = true;
    }
    Ok(())
}

fn start(as_json: bool) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let guard = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    drop(guard);
    let wait = async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            let watch = lock();
            if !watch.is_released {
                if let Some(child) = watch.child {
                    // It may have ended.
                    let _ = kill_process(child, Signal::KILL);
                }
                end(watch.folder.as_deref(), as_json);
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(wait))?;
    Ok(())
}

/// Leaves signals to the command, which MUST have its own handlers by now.
pub(crate) fn release() {
    lock().is_released = true;
}

/// Kills a process at an interruption, or none.
pub(crate) fn kill(child: Option<u32>) {
    lock().child = child.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
}

/// Makes a folder with `make`, which is removed at an interruption.
pub(crate) fn make_folder(
    path: &Path,
    make: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    // No signal comes between the two.
    let mut watch = lock();
    make(path)?;
    watch.folder = Some(path.to_owned());
    Ok(())
}

/// Does not return once an interruption has begun to end the process.
pub(crate) fn pause() {
    drop(lock());
}

/// Prints the failure on standard error, if it is read in time.
pub(crate) fn tell(as_json: bool) {
    let failure = Failure::new(Kind::Interrupted, "interrupted");
    let text = if as_json { format!("{}\n", failure.json()) } else { failure.text() };
    let (done, told) = sync_channel(1);
    let print = move || {
        // If that fails, the exit code tells.
        let _ = io::stderr().write_all(text.as_bytes());
        let _ = done.send(());
    };
    if thread::Builder::new().spawn(print).is_ok() {
        let _ = told.recv_timeout(PATIENCE);
    }
}

fn end(folder: Option<&Path>, as_json: bool) -> ! {
    if let Some(folder) = folder {
        remove(folder);
    }
    tell(as_json);
    process::exit(Kind::Interrupted.code().into())
}

/// Removes a folder. The command may write into it until it comes to [`pause`].
fn remove(folder: &Path) {
    for _ in 0..ATTEMPTS {
        // Looked at again after a while: a step of the command may make it anew.
        let _ = fs::remove_dir_all(folder);
        thread::sleep(PAUSE);
        if folder.symlink_metadata().is_err() {
            return;
        }
    }
}

fn lock() -> MutexGuard<'static, Watch> {
    WATCH.lock().unwrap_or_else(PoisonError::into_inner)
}

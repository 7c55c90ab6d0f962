//! Process groups of the programs that we start and wait for.
//!
//! Each program has a group of its own, so that its children end with it. An interrupt from the
//! terminal reaches only our own group: [`end_all_when_interrupted`] passes it on.

use std::os::unix::process::CommandExt;
use std::process::{self, Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Exit code of a program that was interrupted, as shells report it.
const INTERRUPTED: i32 = 130;

/// A program in a process group of its own. The group has the process id of the program.
#[derive(Debug)]
pub(crate) struct Group(Child);

impl Group {
    pub(crate) fn start(command: &mut Command) -> Result<Self, String> {
        let mut running = running();
        let child = command.process_group(0).spawn().map_err(|error| error.to_string())?;
        running.push(child.id());
        Ok(Self(child))
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    /// Ends the program and its children.
    pub(crate) fn end(&mut self) {
        kill(self.0.id());
        drop(self.0.wait());
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        running().retain(|id| *id != self.0.id());
    }
}

/// Installs a handler that ends all groups and then this program on SIGINT or SIGTERM.
pub(crate) fn end_all_when_interrupted() -> Result<(), String> {
    let end = || {
        // Held until the end, so that no other program is started.
        let running = running();
        running.iter().copied().for_each(kill);
        process::exit(INTERRUPTED);
    };
    ctrlc::set_handler(end).map_err(|error| error.to_string())
}

fn running() -> MutexGuard<'static, Vec<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn kill(group: u32) {
    drop(Command::new("kill").args(["-KILL", "--", &format!("-{group}")]).status());
}

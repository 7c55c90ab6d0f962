//! Tree of all commands, for modules that the commands use.
//!
//! The root of the program sets it: these modules name no command.

use std::sync::OnceLock;

use clap::Command;

static ROOT: OnceLock<fn() -> Command> = OnceLock::new();

/// Sets the tree. The first call counts.
pub(crate) fn set(root: fn() -> Command) {
    let _is_set = ROOT.set(root);
}

/// All commands, not built yet.
pub(crate) fn root() -> Command {
    ROOT.get().map_or_else(|| Command::new("endseal"), |root| root())
}

/// All commands. Each has the options of every command, too.
pub(crate) fn all() -> Command {
    let mut all = root();
    all.build();
    all
}

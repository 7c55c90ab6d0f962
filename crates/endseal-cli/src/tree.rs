//! Tree of all commands, for modules that the commands themselves use.
//!
//! The root of the program sets the tree, so that these modules do not depend on the commands.

use std::sync::OnceLock;

use clap::Command;

static ROOT: OnceLock<fn() -> Command> = OnceLock::new();

/// Sets the function that makes the tree. Later calls have no effect.
pub(crate) fn set(root: fn() -> Command) {
    let _is_set = ROOT.set(root);
}

/// Returns the tree of all commands before clap's build step.
pub(crate) fn root() -> Command {
    ROOT.get().map_or_else(|| Command::new("endseal"), |root| root())
}

/// Returns the built tree of all commands. Each command also has the global options.
pub(crate) fn all() -> Command {
    let mut all = root();
    all.build();
    all
}

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

/// Returns [`root`] for a listing: without the subcommands that print help, which are copies of all
/// others, and with the options of every command, which the short help leaves out.
pub(crate) fn without_help() -> Command {
    fn listed(command: Command) -> Command {
        command
            .disable_help_subcommand(true)
            .mut_args(|argument| argument.hide_short_help(false))
            .mut_subcommands(listed)
    }
    listed(root())
}

/// Returns the built tree of all commands. Each command also has the global options.
#[cfg(test)]
pub(crate) fn all() -> Command {
    let mut all = root();
    all.build();
    all
}

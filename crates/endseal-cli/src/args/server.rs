//! `endseal listen`, described alone.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use super::{Cli, Command, Global};
use crate::cmd;

/// A description of all commands takes 1 MB of memory, code that makes it included, and a server would go
/// on having it. This one has the server alone: [`Server::of`] gives the same as [`Cli`] for it, and nothing for
/// everything else, help and mistakes among it.
#[derive(Parser)]
#[command(name = "endseal", disable_help_subcommand = true)]
pub(super) struct Server {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: ServerCommand,
}

#[derive(Subcommand)]
enum ServerCommand {
    Listen(cmd::listen::Args),
}

impl Server {
    /// What was typed, if it is this command and nothing is wrong with it.
    pub(super) fn of(typed: &[OsString]) -> Option<Cli> {
        let Self { global, command } = Self::try_parse_from(typed).ok()?;
        let ServerCommand::Listen(args) = command;
        Some(Cli { global, command: Command::Listen(args) })
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::Parser as _;

    use super::Server;
    use crate::args::Cli;

    fn typed(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn servers_are_understood_as_by_the_whole_description() {
        for line in ["endseal listen --dir inbox", "endseal -q listen --home h --dir inbox"] {
            let server = Server::of(&typed(line)).map(|cli| format!("{cli:?}"));
            let all = Cli::try_parse_from(typed(line)).map(|cli| format!("{cli:?}"));
            assert_eq!(server, all.ok(), "{line}");
            assert!(server.is_some(), "{line}");
        }
    }

    #[test]
    fn everything_else_is_left_to_the_whole_description() {
        for line in [
            "endseal",
            "endseal --help",
            "endseal --version",
            "endseal s3 serve",
            "endseal s3 key new k",
            "endseal listen -h",
            "endseal seal -r bob notes",
        ] {
            assert!(Server::of(&typed(line)).is_none(), "{line}");
        }
    }
}

//! The commands that run on, described alone.

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand};

use super::{Cli, Command, Global};
use crate::cmd;

/// A description of all commands takes 1 MB of memory, code that makes it included, and a server would go
/// on having it. This one has only those that run on: [`Server::of`] gives the same as [`Cli`] for what it
/// knows, and nothing for everything else, help and mistakes among it.
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
    S3(S3),
    Listen(cmd::listen::Args),
}

#[derive(Args)]
struct S3 {
    #[command(subcommand)]
    command: S3Command,
}

#[derive(Subcommand)]
enum S3Command {
    Serve(cmd::s3::serve::Args),
}

impl Server {
    /// What was typed, if it is one of these commands and nothing is wrong with it.
    pub(super) fn of(typed: &[OsString]) -> Option<Cli> {
        let Self { global, command } = Self::try_parse_from(typed).ok()?;
        let command = match command {
            ServerCommand::S3(S3 { command: S3Command::Serve(args) }) => {
                Command::S3(cmd::s3::Args::serve(args))
            }
            ServerCommand::Listen(args) => Command::Listen(args),
        };
        Some(Cli { global, command })
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
        for line in [
            "endseal s3 serve --folder f",
            "endseal --home h s3 serve --folder f --listen 127.0.0.1:1 --no-log",
            "endseal s3 --json serve --config c --quiet --passphrase-file p",
            "endseal listen --dir inbox",
            "endseal -q listen --home h --dir inbox",
        ] {
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
            "endseal s3",
            "endseal s3 serve",
            "endseal s3 serve --help",
            "endseal s3 serve --listen",
            "endseal s3 serve --frob",
            "endseal s3 key new k",
            "endseal listen -h",
            "endseal seal -r bob notes",
        ] {
            assert!(Server::of(&typed(line)).is_none(), "{line}");
        }
    }
}

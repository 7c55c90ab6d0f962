//! `endseal s3`: the encrypting S3 proxy and its maintenance.

mod clean;
mod configuration;
mod foreign;
mod import;
mod key;
mod names;
mod problems;
mod recover;
mod rewrap;
mod ring_passphrase;
mod scrub;
mod serve;

use clap::Subcommand;

use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;

/// Encrypt the objects of S3 clients before an S3 server
///
/// The server stores encrypted objects only. docs/s3.md lists the differences that clients notice.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Args),
    Key(key::Args),
    Names(names::Args),
    Rewrap(rewrap::Args),
    Recover(recover::Args),
    Import(import::Args),
    Scrub(scrub::Args),
    Clean(clean::Args),
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    match &args.command {
        Command::Serve(args) => serve::run(args, ctx),
        Command::Key(args) => key::run(args, ctx),
        Command::Names(args) => names::run(args),
        Command::Rewrap(args) => rewrap::run(args, ctx),
        Command::Import(args) => import::run(args, ctx),
        Command::Recover(args) => recover::run(args, ctx),
        Command::Scrub(args) => scrub::run(args, ctx),
        Command::Clean(args) => clean::run(args, ctx),
    }
}

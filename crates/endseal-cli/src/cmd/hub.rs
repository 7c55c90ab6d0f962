//! `endseal hub`: runs a hub and manages it.

mod backup;
mod check;
mod invitations;
mod invite;
mod migrate;
mod move_hub;
mod named;
mod people;
mod place;
mod quota;
mod remove;
mod restore;
mod serve;
mod stats;

use clap::Subcommand;

use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;

/// Keep messages for people who are away, without reading any
///
/// serve makes the hub's key and database, and runs it; invite prints a text with which one device
/// may join. The hub learns who writes to whom or to which group, whose devices get it, when and
/// how much, and nothing of the content.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Args),
    Invite(invite::Args),
    Invitations(invitations::Args),
    People(people::Args),
    Remove(remove::Args),
    Quota(quota::Args),
    Move(move_hub::Args),
    Stats(stats::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Migrate(migrate::Args),
    Check(check::Args),
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    match &args.command {
        Command::Serve(args) => serve::run(args, ctx),
        Command::Invite(args) => invite::run(args, ctx),
        Command::Invitations(args) => invitations::run(args, ctx),
        Command::People(args) => people::run(args, ctx),
        Command::Remove(args) => remove::run(args, ctx),
        Command::Quota(args) => quota::run(args, ctx),
        Command::Move(args) => move_hub::run(args, ctx),
        Command::Stats(args) => stats::run(args, ctx),
        Command::Backup(args) => backup::run(args, ctx),
        Command::Restore(args) => restore::run(args, ctx),
        Command::Migrate(args) => migrate::run(args, ctx),
        Command::Check(args) => check::run(args, ctx),
    }
}

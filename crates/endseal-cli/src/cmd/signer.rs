//! `endseal signer`: a remote signer for Nostr apps.

mod access;
mod approve;
mod apps;
mod backup;
mod connect;
mod decision;
mod deny;
mod device;
mod explain;
mod failures;
mod grant;
mod import;
mod init;
mod invite;
mod lock;
mod log;
mod passphrase;
mod reinvite;
mod remove_key;
mod rename;
mod revoke;
mod rules;
mod run;
mod sign_in;
mod sign_out;
mod status;
mod unlock;
mod waiting;

use clap::Subcommand;

use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;

/// Sign for Nostr apps that hold no key (NIP-46), each within its rules
///
/// init makes the signer's store, import adds your key, run answers apps, invite lets one in.
/// Commands reach a signer that runs over a socket in the state directory; otherwise they open the
/// store themselves and ask for its passphrase.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Args),
    Import(import::Args),
    Run(run::Args),
    Invite(invite::Args),
    Connect(connect::Args),
    Apps(apps::Args),
    Grant(grant::Args),
    Rename(rename::Args),
    Reinvite(reinvite::Args),
    Revoke(revoke::Args),
    Waiting(waiting::Args),
    Approve(approve::Args),
    Deny(deny::Args),
    Explain(explain::Args),
    Log(log::Args),
    Lock(lock::Args),
    Unlock(unlock::Args),
    Passphrase(passphrase::Args),
    RemoveKey(remove_key::Args),
    Backup(backup::Args),
    SignIn(sign_in::Args),
    SignOut(sign_out::Args),
    Status(status::Args),
}

pub(crate) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    match args.command {
        Command::Init(args) => init::run(&args, ctx),
        Command::Import(args) => import::run(&args, ctx),
        Command::Run(args) => run::run(args, ctx),
        Command::Invite(args) => invite::run(args, ctx),
        Command::Connect(args) => connect::run(args, ctx),
        Command::Apps(args) => apps::run(&args, ctx),
        Command::Grant(args) => grant::run(args, ctx),
        Command::Rename(args) => rename::run(args, ctx),
        Command::Reinvite(args) => reinvite::run(args, ctx),
        Command::Revoke(args) => revoke::run(args, ctx),
        Command::Waiting(args) => waiting::run(&args, ctx),
        Command::Approve(args) => approve::run(&args, ctx),
        Command::Deny(args) => deny::run(&args, ctx),
        Command::Explain(args) => explain::run(args, ctx),
        Command::Log(args) => log::run(&args, ctx),
        Command::Lock(args) => lock::run(&args, ctx),
        Command::Unlock(args) => unlock::run(&args, ctx),
        Command::Passphrase(args) => passphrase::run(&args, ctx),
        Command::RemoveKey(args) => remove_key::run(&args, ctx),
        Command::Backup(args) => backup::run(&args, ctx),
        Command::SignIn(args) => sign_in::run(&args, ctx),
        Command::SignOut(args) => sign_out::run(&args, ctx),
        Command::Status(args) => status::run(&args, ctx),
    }
}

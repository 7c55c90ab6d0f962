//! `endseal nostr`: keys, events and encrypted messages of Nostr.

use clap::Subcommand;

use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;

mod bunker;
mod client_key;
mod content;
mod decode;
mod decrypt;
mod encrypt;
mod event;
mod failures;
mod holder;
mod key;
pub(super) mod peer;
pub(super) mod secret;
mod unwrap;
mod wrap;

/// Nostr: keys, events, encrypted messages and gift wraps
///
/// Events go in and out as text, and none is published. Secret keys are read from files (nsec1...,
/// ncryptsec1... or hexadecimal digits) or standard input, never from arguments. A remote signer
/// may hold the key instead, and is asked over its relays.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Key(key::Args),
    Event(event::Args),
    Encrypt(encrypt::Args),
    Decrypt(decrypt::Args),
    Wrap(wrap::Args),
    Unwrap(unwrap::Args),
    Decode(decode::Args),
}

pub(crate) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    match args.command {
        Command::Key(args) => key::run(args, ctx),
        Command::Event(args) => event::run(args, ctx),
        Command::Encrypt(args) => encrypt::run(&args, ctx),
        Command::Decrypt(args) => decrypt::run(&args, ctx),
        Command::Wrap(args) => wrap::run(&args, ctx),
        Command::Unwrap(args) => unwrap::run(&args, ctx),
        Command::Decode(args) => decode::run(&args, ctx),
    }
}

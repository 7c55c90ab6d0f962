//! `endseal session`: groups in files, and old data of the store.

mod group;
mod prune;

use core::time::Duration;
use std::io;
use std::path::Path;

use clap::Subcommand;
use endseal_crypto::ed25519;
use endseal_keyring::Contacts;

use crate::ctx::{Ctx, Outcome};
use crate::duration::{self, WEEK};
use crate::failure::{Failure, Kind};
use crate::names::identity_text;
use crate::printable::plural;
use crate::recipients;
use crate::terminal::Terminal;

/// Hold group conversations (MLS) in files, and delete old data of the store
///
/// Each message has its own key, which is erased after decryption. The keys are in the store in the
/// state directory, encrypted under a key derived from the device. endseal init creates both.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    #[command(subcommand)]
    command: Command,
}

/// Options of commands that open the store.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct StoreArgs {
    /// Wait for another process that has the store open, at most this time
    #[arg(long, global = true, value_name = "TIME", default_value = "30s")]
    #[arg(value_parser = duration::between(Duration::ZERO, WEEK))]
    pub(crate) wait: Duration,
}

#[derive(Debug, Subcommand)]
enum Command {
    Group(group::Args),
    Prune(prune::Args),
}

pub(crate) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let wait = args.store.wait;
    match args.command {
        Command::Group(args) => group::run(args, wait, ctx),
        Command::Prune(args) => prune::run(&args, wait, ctx),
    }
}

/// Asks a question on the terminal. Fails unless the answer is yes.
fn ask(question: &str) -> Result<(), Failure> {
    let refused = |error: io::Error| {
        Failure::usage("a confirmation is asked for, and there is no answer")
            .because(&error)
            .hint("--yes")
    };
    let answer = Terminal::open().and_then(|terminal| terminal.confirm(question));
    match answer.map_err(refused)? {
        true => Ok(()),
        false => Err(Failure::new(Kind::Refused, "nothing was changed")),
    }
}

/// A person that was named in the arguments, and the name to show.
pub(crate) struct Partner {
    pub(crate) identity: ed25519::PublicKey,
    pub(crate) name: String,
}

impl Partner {
    pub(crate) fn find(text: &str, ctx: &Ctx) -> Result<Self, Failure> {
        Self::of(*recipients::person(text, ctx)?.ed25519(), ctx)
    }

    pub(crate) fn of(identity: ed25519::PublicKey, ctx: &Ctx) -> Result<Self, Failure> {
        let name = match ctx.home()?.contacts()?.name_of(&identity) {
            Some(name) => name.to_string(),
            None => identity_text(identity),
        };
        Ok(Self { identity, name })
    }
}

/// Returns the name of a contact, or else the identity as text.
pub(crate) fn called(key: ed25519::PublicKey, contacts: &Contacts) -> String {
    contacts.name_of(&key).map_or_else(|| identity_text(key), ToString::to_string)
}

/// Formats the path of a file for messages and JSON.
fn shown(path: &Path) -> String {
    path.display().to_string()
}

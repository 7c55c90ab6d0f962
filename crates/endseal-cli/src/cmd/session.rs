//! `endseal session`: shows and ends sessions with devices.

mod group;
mod list;
mod prune;
mod reset;
mod verify;

use core::time::Duration;
use std::io;
use std::path::Path;

use clap::Subcommand;
use endseal_crypto::ed25519;
use endseal_keyring::Contacts;
use endseal_session::{Correspondent, Engine};

use crate::ctx::{Ctx, Outcome};
use crate::duration::{self, WEEK};
use crate::failure::{Failure, Kind};
use crate::names::identity_text;
use crate::printable::plural;
use crate::recipients;
use crate::terminal::Terminal;

/// Show and end sessions with devices, and hold group conversations (MLS) in files
///
/// endseal sync and endseal up begin a session with each device to which they send: each message
/// has its own key, which is erased after decryption. Sessions are in the store in the state
/// directory, encrypted under a key derived from the device. endseal init creates both.
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
    /// List the devices that are known, and the sessions with them
    List,
    /// Show the sessions with a person
    Show {
        /// Contact or identity
        name: String,
    },
    Verify(verify::Args),
    Reset(reset::Args),
    Group(group::Args),
    Prune(prune::Args),
}

pub(crate) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let wait = args.store.wait;
    match args.command {
        Command::List => list::list(wait, ctx),
        Command::Show { name } => list::show(&name, wait, ctx),
        Command::Verify(args) => verify::run(&args, wait, ctx),
        Command::Reset(args) => reset::run(&args, wait, ctx),
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

    /// Returns the known devices of the person.
    fn devices(&self, engine: &mut Engine) -> Result<Vec<Correspondent>, Failure> {
        let mut known = engine.correspondents()?;
        known.retain(|it| it.address.identity == self.identity);
        Ok(known)
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

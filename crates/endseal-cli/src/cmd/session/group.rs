//! `endseal session group`: group conversations (MLS) in session files.

mod change;
mod inbox;
mod key_package;
mod leave;
mod list;
mod receive;
mod send;

use core::time::Duration;
use std::path::PathBuf;

use clap::Subcommand;
use endseal_node::messages::carried_groups;
use endseal_node::{AtomicFile, Existing, FileError, Readers, sessions};
use endseal_session::group::MAX_GROUP_ID_LEN;
use endseal_session::{ConversationId, Engine, GroupChangeError, GroupSummary};

use self::inbox::group_name;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;
use crate::output::DASH;
use crate::printable::{plural, printable};
use crate::sessions::with;
use crate::typed;

/// Hold conversations in groups (MLS), whose messages travel in session files
///
/// A device hands out a key package. A member adds the device with it and writes a welcome, which
/// the device reads with session group receive. Texts and changes go to all members, who read them
/// with session group receive too.
///
/// A change (add, remove, update) is a commit, and pending at first. If two members commit at the
/// same time, all members must take the same commit. Accept yours when it is certain that it comes
/// first, or receive its file if the order of files is the same for all. If another member's commit
/// is received before, yours is discarded. The welcome is written when the commit was accepted. If
/// no other device is in the group, that is at once.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    KeyPackage(key_package::Args),
    /// Make a group with this device alone in it
    Create {
        /// Its name, 1 to 63 bytes; it is the same for all members
        group: String,
    },
    Add(change::Add),
    Remove(change::Remove),
    /// Renew the keys of this device, and commit the proposals of members
    Update {
        /// Name of the group
        group: String,
        #[command(flatten)]
        out: Out,
    },
    Accept(change::Accept),
    /// Discard the pending commit
    ///
    /// Use it if no member has the commit, or if another commit came first.
    Discard {
        /// Name of the group
        group: String,
    },
    Send(send::Args),
    Receive(receive::Args),
    Inbox(inbox::Args),
    Leave(leave::Leave),
    Forget(leave::Forget),
    /// List all groups
    List,
    /// Show the members
    Members {
        /// Name of the group
        group: String,
    },
}

/// Options for the session file that a command writes.
#[derive(clap::Args, Debug)]
struct Out {
    /// Session file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the file
    #[arg(short, long)]
    force: bool,
}

impl Out {
    /// Creates the file before anything is encrypted, so that an existing file is refused early.
    fn create(&self) -> Result<AtomicFile, FileError> {
        let existing = if self.force { Existing::Replace } else { Existing::Keep };
        AtomicFile::create(&self.output, existing, Readers::Umask)
    }

    fn check(&self) -> Result<(), Failure> {
        if self.output.as_os_str() == DASH {
            return Err(Failure::usage("messages are not written to standard output")
                .because_text("a message leaves the outbox when its file is on the disk".to_owned())
                .hint("name a file with -o FILE"));
        }
        Ok(())
    }
}

pub(crate) fn run(args: Args, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    match args.command {
        Command::KeyPackage(args) => key_package::run(&args, wait, ctx),
        Command::Create { group } => create(&group, wait, ctx),
        Command::Add(args) => change::add(&args, wait, ctx),
        Command::Remove(args) => change::remove(&args, wait, ctx),
        Command::Update { group, out } => change::update(&group, &out, wait, ctx),
        Command::Accept(args) => change::accept(&args, wait, ctx),
        Command::Discard { group } => change::discard(&group, wait, ctx),
        Command::Send(args) => send::run(&args, wait, ctx),
        Command::Receive(args) => receive::run(&args, wait, ctx),
        Command::Inbox(args) => inbox::run(&args, wait, ctx),
        Command::Leave(args) => leave::leave(&args, wait, ctx),
        Command::Forget(args) => leave::forget(&args, wait, ctx),
        Command::List => list::list(wait, ctx),
        Command::Members { group } => list::members(&group, wait, ctx),
    }
}

fn create(name: &str, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    if !(1..=MAX_GROUP_ID_LEN).contains(&name.len()) || printable(name) != name {
        let shown = typed::shown(name);
        return Err(Failure::usage(format!("'{shown}' is not the name of a group"))
            .hint("1 to 63 bytes that a terminal shows"));
    }
    let now = Duration::from_millis(ctx.now);
    with(wait, ctx, |engine, _| {
        engine.transaction(|transaction| transaction.create_group(name.as_bytes(), now))?;
        Ok(())
    })?;
    Ok(Outcome::done(format!("group {name}"), json::object([("group", name.into())])))
}

/// A group that is known on this device.
struct Known {
    id: Vec<u8>,
    name: String,
}

impl Known {
    /// Finds the group that is shown under this name.
    fn find(name: &str, engine: &mut Engine) -> Result<Self, Failure> {
        let mut found: Vec<_> =
            carried_groups(engine)?.into_iter().filter(|id| group_name(id) == name).collect();
        match (found.pop(), found.is_empty()) {
            (Some(id), true) => Ok(Self { id, name: name.to_owned() }),
            (Some(_), false) => {
                Err(Failure::usage(format!("'{}' names several groups", typed::shown(name))))
            }
            (None, _) => Err(Failure::usage(format!("there is no group '{}'", typed::shown(name)))
                .hint("endseal session group list shows all groups")),
        }
    }

    fn conversation(&self) -> ConversationId {
        ConversationId::Group(self.id.clone())
    }

    fn summary(&self, engine: &mut Engine) -> Result<GroupSummary, Failure> {
        engine.group(&self.id)?.ok_or_else(|| GroupChangeError::NoGroup.into())
    }

    /// Writes the waiting messages and commits to a session file.
    fn write_outbox(&self, engine: &mut Engine, file: AtomicFile) -> Result<u64, Failure> {
        let written = sessions::write_outbox(engine, &self.conversation(), file);
        written.map_err(|error| {
            let name = &self.name;
            Failure::from(error).hint(format!(
                "the messages wait; write them: endseal session group send {name} --resume -o FILE"
            ))
        })
    }

    /// Fails if messages of an interrupted run are still in the outbox.
    fn check_outbox(&self, engine: &mut Engine) -> Result<(), Failure> {
        let waiting = sessions::waiting(engine, &self.conversation())?;
        if waiting == 0 {
            return Ok(());
        }
        let name = &self.name;
        let messages = plural(waiting, "message");
        Err(Failure::usage(format!("an earlier run left {messages} for the group {name}"))
            .hint(format!("write what waits: endseal session group send {name} --resume -o FILE")))
    }
}

//! `endseal contacts`: keeps the public identities of other persons under names.

mod lookup;
mod mute;
mod verify;

use core::fmt::Write as _;
use std::collections::HashSet;
use std::path::Path;

use clap::Subcommand;
use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::identity::PublicIdentity;
use endseal_keyring::address_book::ChangeBookError;
use endseal_keyring::{Contacts, IdentityText, Name};
use endseal_node::api::{Client, Reply, Request};
use endseal_node::{GroupError, Home, OWN_NAME, read_bounded};

use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::output::{DASH, Input};
use crate::printable::printable;
use crate::recipients;
use crate::typed::redacted;

/// Limit on the length of a file with one identity.
const MAX_LEN: usize = 64 << 10;

/// Keep the public identities of others under names
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add a contact
    ///
    /// Blanks and line breaks in the identity, as mails put them, are left out. If it is the short
    /// form and this device is registered at a hub, the hub is asked for the long form, which
    /// post-quantum sealing needs. Texts that the person wrote before, as requests, move to the
    /// inbox.
    Add {
        /// a-z, 0-9, '.', '_' and '-'
        name: Name,
        /// Identity as endseal id show prints it, a file with it, or - for standard input
        #[arg(value_name = "IDENTITY|FILE|-")]
        identity: String,
        /// Replace the identity of that name
        ///
        /// A long identity completes the short one of the same key without this option.
        #[arg(short, long)]
        force: bool,
        /// Do not ask the hub for the long form
        #[arg(long)]
        local: bool,
    },
    /// Remove a contact
    ///
    /// If you have other devices, all of them still show what the person writes. To have that as
    /// requests again: endseal block, then endseal unblock.
    Remove {
        /// Name of the contact
        name: Name,
    },
    /// Give a contact another name
    Rename {
        /// Present name of the contact
        from: Name,
        /// New name of the contact
        to: Name,
    },
    Mute(mute::MuteArgs),
    Unmute(mute::UnmuteArgs),
    Verify(verify::Args),
    /// List all contacts, and which of them are verified
    List {
        /// Print long identities where they are known
        #[arg(long)]
        pq: bool,
    },
}

pub(crate) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let home = ctx.home()?;
    match args.command {
        Command::Add { name, identity, force, local } => {
            let mut identity = read(&identity, ctx)?;
            let own = ctx.identity(&home).ok();
            if own.is_some_and(|own| own.public().ed25519() == identity.ed25519()) {
                ctx.note(&format!("note: {name} is your own identity"));
            } else if name.as_str() == OWN_NAME {
                return Err(is_own_name());
            } else if !local && identity.mlkem768().is_none() {
                identity = complete(identity, &name, &home, ctx);
            }
            let mut note = None;
            let done = match identity.mlkem768() {
                Some(_) => format!("{name} is a contact"),
                None => format!("{name} is a contact, without a post-quantum key"),
            };
            let person = *identity.ed25519();
            let outcome = change(&home, Some(&name), done, |contacts| {
                add(contacts, &name, identity, force, &mut note)
            });
            if outcome.is_ok() {
                accept(&home, person, &name, ctx);
            }
            let Some(note) = note else { return outcome };
            ctx.note(&note);
            outcome.map(|outcome| Outcome { confirmation: None, ..outcome })
        }
        Command::Remove { name } => {
            let done = format!("{name} is removed from the contacts");
            change(&home, None, done, |contacts| contacts.remove(&name).map(|_| ()))
        }
        Command::Rename { to, .. } if to.as_str() == OWN_NAME => Err(is_own_name()),
        Command::Rename { from, to } => {
            let done = format!("{from} is called {to} now");
            change(&home, Some(&to), done, |contacts| contacts.rename(&from, to.clone()))
        }
        Command::Mute(args) => mute::mute(&args, ctx),
        Command::Unmute(args) => mute::unmute(&args, ctx),
        Command::Verify(args) => verify::run(&args, ctx),
        Command::List { pq } => {
            let contacts = home.contacts()?;
            let verified = verify::verified(&home, ctx);
            Ok(list(&contacts, pq, verified.as_ref()))
        }
    }
}

/// Fails because notes to oneself would go to a contact of this name.
fn is_own_name() -> Failure {
    Failure::usage(format!("'{OWN_NAME}' is the name of your notes to yourself"))
        .hint("choose another name")
}

/// Reads an identity that is given itself, in a file, or on standard input.
fn read(given: &str, ctx: &mut Ctx) -> Result<PublicIdentity, Failure> {
    let is_file = given != DASH && !given.starts_with("endseal") && Path::new(given).is_file();
    if given != DASH && !is_file {
        return recipients::identity(given);
    }
    let path = Path::new(given);
    let name = if is_file { path } else { Path::new("standard input") };
    let content = read_bounded(Input::open(Some(path), ctx)?.reader, name, MAX_LEN)?;
    let text = core::str::from_utf8(&content).map_err(|error| {
        Failure::usage(format!("'{}' holds no identity", name.display())).because(&error)
    })?;
    recipients::identity(text)
}

/// Returns the long form of an identity if it is known here or at the hub, and otherwise the short
/// one. That a question to the hub failed is only a note: the contact is added.
fn complete(short: PublicIdentity, name: &Name, home: &Home, ctx: &mut Ctx) -> PublicIdentity {
    let known = home.contacts().ok().and_then(|it| it.find(name.as_str()).cloned());
    if let Some(known) = known.filter(|it| it.ed25519() == short.ed25519())
        && known.mlkem768().is_some()
    {
        // The known one stays as it is.
        return short;
    }
    match lookup::ask(home, short.ed25519(), ctx) {
        Ok(Some(long)) => {
            ctx.note(&format!("note: the hub has the long identity of {name}, signed by it"));
            long
        }
        Ok(None) => short,
        Err(failure) => {
            let why = printable(&redacted(&failure.line()));
            ctx.note(&format!("note: the hub was not asked for the long identity: {why}"));
            short
        }
    }
}

/// Moves a request of a new contact to the inbox, if `endseal up` runs. Otherwise the next command
/// that opens the store does it.
fn accept(home: &Home, person: PublicKey, name: &Name, ctx: &mut Ctx) {
    let Ok(Some(client)) = Client::find(home) else { return };
    // If it fails, the contact is stored anyway, and the next request does the same.
    let Ok(Reply::Persons(rules)) = client.call(&Request::Persons {}) else { return };
    if rules.rows.iter().any(|it| it.person == person && it.blocked.is_some()) {
        ctx.note(&format!("note: {name} is blocked; to unblock: endseal unblock {name}"));
    }
}

/// Adds an identity. The long form of an identity replaces its short form, and the short form never
/// replaces the long one. Every other change of a contact needs `force`.
fn add(
    contacts: &mut Contacts,
    name: &Name,
    identity: PublicIdentity,
    force: bool,
    note: &mut Option<String>,
) -> Result<(), ChangeBookError> {
    let Some(known) = contacts.find(name.as_str()) else {
        return contacts.add(name.clone(), identity);
    };
    if force {
        let warning = kem_key_changes(known, &identity);
        *note = warning.map(|warning| format!("warning: {name} {warning}"));
        return contacts.replace(name, identity).map(|_| ());
    }
    if known.ed25519() != identity.ed25519() {
        return Err(ChangeBookError::DuplicateName);
    }
    match (known.mlkem768(), identity.mlkem768()) {
        (None, Some(_)) => {
            *note = Some(format!("note: {name} has an ML-KEM-768 key now"));
            contacts.replace(name, identity).map(|_| ())
        }
        (Some(_), None) => {
            let kept = "keeps the ML-KEM-768 key, which the short identity does not name";
            *note = Some(format!("note: {name} {kept}"));
            Ok(())
        }
        (old, new) if old == new => {
            *note = Some(format!("note: {name} is known already"));
            Ok(())
        }
        _ => Err(ChangeBookError::DuplicateName),
    }
}

/// Describes a change of the ML-KEM-768 key, which the short identity that people compare does not
/// show. Returns `None` if there is none.
fn kem_key_changes(old: &PublicIdentity, new: &PublicIdentity) -> Option<&'static str> {
    match (old.mlkem768(), new.mlkem768()) {
        _ if old.ed25519() != new.ed25519() => Some("is another identity now: compare it again"),
        (Some(_), None) => {
            Some("has no ML-KEM-768 key any more: add the long identity to have it again")
        }
        (Some(old), Some(new)) if old != new => Some(
            "has another ML-KEM-768 key now, signed by the same identity: ask whether it is so",
        ),
        _ => None,
    }
}

/// Changes the contacts. A new name `given` to a contact must not be that of a group.
fn change(
    home: &Home,
    given: Option<&Name>,
    done: String,
    change: impl FnOnce(&mut Contacts) -> Result<(), ChangeBookError>,
) -> Result<Outcome, Failure> {
    let lock = home.lock()?;
    let mut contacts = home.contacts()?;
    if let Some(name) = given
        && !matches!(home.groups().epochs(name), Err(GroupError::Unknown(_)))
    {
        return Err(Failure::usage(format!("{name} is a group")).hint("choose another name"));
    }
    change(&mut contacts).map_err(|error| {
        let failure = Failure::usage("the contacts were not changed").because(&error);
        match error {
            ChangeBookError::DuplicateName => failure
                .hint("choose another name")
                .hint_with("force", "replace the identity with --force, or choose another name"),
            ChangeBookError::Unknown => failure.hint("endseal contacts list shows all names"),
            _ => failure,
        }
    })?;
    home.store_contacts(&contacts, &lock)?;
    Ok(Outcome::done(done, json::object([("contacts", contacts.len().into())])))
}

/// `verified` are the persons whose safety numbers were compared; `None` if that is not known.
fn list(contacts: &Contacts, pq: bool, verified: Option<&HashSet<PublicKey>>) -> Outcome {
    let width = contacts.iter().map(|(name, _)| name.as_str().len()).max().unwrap_or_default();
    let mut text = String::new();
    let mut entries = Vec::new();
    for (name, identity) in contacts.iter() {
        let (short, long) = forms(identity);
        let shown = long.as_ref().filter(|_| pq).unwrap_or(&short);
        let is_verified = verified.map(|it| it.contains(identity.ed25519()));
        let mark = if is_verified == Some(true) { "  verified" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:width$}  {shown}{mark}");
        entries.push(json::object([
            ("name", name.as_str().into()),
            ("identity", short.into()),
            ("identity_pq", long.into()),
            ("verified", is_verified.into()),
        ]));
    }
    Outcome::new(text, json::object([("contacts", Value::Array(entries))]))
}

/// Returns the short form of an identity, and the long form if its ML-KEM-768 key is known.
pub(crate) fn forms(identity: &PublicIdentity) -> (String, Option<String>) {
    let text = IdentityText::from(identity.clone());
    let long = identity.mlkem768().is_some().then(|| text.to_string());
    (text.short().to_string(), long)
}

//! `endseal group`: keeps groups as lists of members, signed by their owner.

use core::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use endseal_crypto::ed25519;
use endseal_crypto::identity::PublicIdentity;
use endseal_keyring::roster::{self, ChangeRosterError, InvalidMembers, Member, RosterChanges};
use endseal_keyring::{IdentityText, Name, Roster};
use endseal_node::{Home, read_bounded};

use crate::cmd::contacts::forms;
use crate::cmd::seal::few;
use crate::cmd::session::StoreArgs;
use crate::ctx::{Ctx, Outcome};
use crate::departures::{Departures, OwnPart};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::output::{AtTerminal, Input, Output};
use crate::printable::plural;
use crate::{passphrase, recipients, typed};

mod leave;

/// Keep groups: lists of members, signed by their owner, epoch by epoch
///
/// Each change begins a new epoch with a new key, which is sealed to the members of that epoch. The
/// next sync brings it to the members at the hub; others import the roster from a file (group
/// export, group import). A removed member can still open files that were sealed before.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a group; you are its owner and a member
    Create {
        /// a-z, 0-9, '.', '_' and '-'
        group: Name,
        /// Contacts, or NAME=IDENTITY
        members: Vec<String>,
        /// Your own name in the group
        #[arg(long, value_name = "NAME", default_value = "owner")]
        own_name: Name,
        /// Own the group without being a member
        #[arg(long, conflicts_with = "own_name")]
        without_me: bool,
        #[command(flatten)]
        pq: Pq,
    },
    /// Add members
    Add {
        /// Name of the group
        group: Name,
        /// Contacts, or NAME=IDENTITY
        #[arg(required = true)]
        members: Vec<String>,
        #[command(flatten)]
        pq: Pq,
    },
    /// Remove members
    Remove {
        /// Name of the group
        group: Name,
        /// Names in the group
        #[arg(required = true)]
        members: Vec<Name>,
        #[command(flatten)]
        pq: Pq,
    },
    /// Let members change the group as you do, or no longer
    ///
    /// Admins add and remove members, rotate the key and rename the group. Only the owner appoints
    /// them, and hands the group on.
    Admin {
        #[command(subcommand)]
        command: AdminCommand,
    },
    /// Hand a group on to a member, who becomes its owner
    ///
    /// You stay a member, and can leave then. All appointments of admins end.
    Owner {
        /// Name of the group
        group: Name,
        /// Name in the group
        member: Name,
    },
    /// Give a group another name
    ///
    /// If you may change the group, the name is the one of all members who have not chosen another
    /// one. Otherwise it is the one on this device.
    Rename {
        /// Name of the group
        group: Name,
        /// New name
        name: Name,
    },
    /// Delete a group that you have left or in which no one else is, with its texts
    Delete {
        /// Name of the group
        group: Name,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Leave a group of another owner
    ///
    /// Its texts are dropped from now on, and those that wait here are cancelled. The members learn
    /// it with the next sync of this device. You come back when the owner removes and adds you.
    Leave {
        /// Name of the group
        group: Name,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Begin a new epoch with a new key and the same members
    Rotate {
        /// Name of the group
        group: Name,
        #[command(flatten)]
        pq: Pq,
    },
    /// Show the members
    Show {
        /// Name of the group
        group: Name,
    },
    /// List all groups
    List,
    /// Write the signed roster, for the members
    Export {
        /// Name of the group
        group: Name,
        /// Write to a file [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Replace the file
        #[arg(short, long)]
        force: bool,
    },
    /// Import the roster of a group
    ///
    /// Its owner must be you or a contact, and its epoch later than the known one.
    Import {
        /// File with the roster [default: standard input]
        file: Option<PathBuf>,
        /// Your name for the group [default: the owner's]
        #[arg(long = "as", value_name = "NAME")]
        name: Option<Name>,
    },
}

#[derive(Debug, Subcommand)]
enum AdminCommand {
    /// Appoint members as admins
    Add {
        /// Name of the group
        group: Name,
        /// Names in the group
        #[arg(required = true)]
        members: Vec<Name>,
    },
    /// End the appointment of admins, who stay members
    Remove {
        /// Name of the group
        group: Name,
        /// Names in the group
        #[arg(required = true)]
        members: Vec<Name>,
    },
}

#[derive(clap::Args, Clone, Copy, Debug)]
struct Pq {
    /// Require the long identity of every member
    ///
    /// The group's key is post-quantum only if all members have long identities. With this option
    /// the command fails otherwise.
    #[arg(long = "pq")]
    required: bool,
}

pub(crate) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let home = ctx.home()?;
    match args.command {
        Command::Create { group, members, own_name, without_me, pq } => {
            let own_name = (!without_me).then_some(own_name);
            create(group, &members, own_name, pq, &home, ctx)
        }
        Command::Add { group, members, pq } => {
            let mut changes = RosterChanges::new();
            let (current, departures) =
                (home.groups().current(&group)?, Departures::load(&home, ctx)?);
            for member in &members {
                let member = parse_member(member, ctx)?;
                if departures.has(&current, member.identity().ed25519()) {
                    let message = format!("{} has left {group}", member.name());
                    return Err(Failure::usage(message).hint(
                        "to invite again: endseal group remove, endseal sync, endseal group add",
                    ));
                }
                changes.add(member);
            }
            change(&group, &changes, pq, &home, ctx)
        }
        Command::Rotate { group, pq } => change(&group, &RosterChanges::new(), pq, &home, ctx),
        Command::Remove { group, members, pq } => {
            let mut changes = RosterChanges::new();
            for member in members {
                changes.remove(member);
            }
            change(&group, &changes, pq, &home, ctx)
        }
        Command::Leave { group, store } => leave::leave(&group, &store, &home, ctx),
        Command::Delete { group, store } => leave::delete(&group, &store, &home, ctx),
        Command::Rename { group, name } => rename(&group, &name, &home, ctx),
        Command::Owner { group, member } => {
            let mut changes = RosterChanges::new();
            changes.hand_on(member);
            change(&group, &changes, Pq { required: false }, &home, ctx)
        }
        Command::Admin { command } => {
            let mut changes = RosterChanges::new();
            let (group, members, is_new) = match command {
                AdminCommand::Add { group, members } => (group, members, true),
                AdminCommand::Remove { group, members } => (group, members, false),
            };
            for member in members {
                match is_new {
                    true => changes.appoint(member),
                    false => changes.dismiss(member),
                };
            }
            change(&group, &changes, Pq { required: false }, &home, ctx)
        }
        Command::Show { group } => show(&group, &home, ctx),
        Command::List => list(&home, ctx),
        Command::Export { group, output, force } => {
            let roster = home.groups().current(&group)?;
            let mut out = Output::create(output.as_deref(), force, AtTerminal::TextOnly, ctx)?;
            let confirmation =
                out.path().map(|path| format!("roster of {group} in '{}'", path.display()));
            let outcome = Outcome {
                data_on_stdout: out.is_stdout(),
                confirmation,
                ..Outcome::new("", summary(&group, &roster))
            };
            out.write_all(roster.as_bytes()).map_err(|error| crate::failure::standard(&error))?;
            out.commit()?;
            Ok(outcome)
        }
        Command::Import { file, name } => import(file.as_deref(), name, &home, ctx),
    }
}

fn create(
    group: Name,
    members: &[String],
    own_name: Option<Name>,
    pq: Pq,
    home: &Home,
    ctx: &mut Ctx,
) -> Result<Outcome, Failure> {
    if home.contacts()?.find(group.as_str()).is_some() {
        return Err(is_contact(&group).hint("give the group another name"));
    }
    let mut all = Vec::with_capacity(members.len() + 1);
    for member in members {
        all.push(parse_member(member, ctx)?);
    }
    pq.check(&all)?;
    let owner = passphrase::unlock(ctx, home)?;
    all.extend(own_name.map(|name| Member::new(name, owner.public().clone())));
    let roster = home.groups().create(&owner, group.clone(), all, &home.lock()?)?;
    Ok(changed(&group, &roster, ctx))
}

/// Fails because a contact has this name: `endseal say` accepts the names of both.
fn is_contact(name: &Name) -> Failure {
    Failure::usage(format!("{name} is a contact"))
}

fn change(
    group: &Name,
    changes: &RosterChanges,
    pq: Pq,
    home: &Home,
    ctx: &mut Ctx,
) -> Result<Outcome, Failure> {
    let (current, departures) = (home.groups().current(group)?, Departures::load(home, ctx)?);
    let own = ctx.identity(home).ok().map(|file| *file.public().ed25519());
    if own.is_some_and(|own| departures.has(&current, &own)) {
        return Err(Failure::usage(format!("you have left {group}")));
    }
    let mut changes = changes.clone();
    for member in current.members() {
        if departures.has(&current, member.identity().ed25519()) {
            changes.remove(member.name().clone());
            ctx.note(&format!("note: {} has left {group}, and is removed", member.name()));
        }
    }
    let changes = &changes;
    // Check the members before the user types a passphrase.
    let draft = current.next_epoch(changes).map_err(|error| not_changed(group, &error))?;
    pq.check(draft.members())?;
    let owner = passphrase::unlock(ctx, home)?;
    let roster = home.groups().change(&owner, group, changes, &home.lock()?)?;
    Ok(changed(group, &roster, ctx))
}

/// Says why a change is not possible, and where the names of the members are found.
fn not_changed(group: &Name, error: &ChangeRosterError) -> Failure {
    let failure = Failure::usage("the group was not changed").because(error);
    match error {
        ChangeRosterError::IsAdmin(_)
        | ChangeRosterError::IsOwner(_)
        | ChangeRosterError::NotAMember(_)
        | ChangeRosterError::NotAnAdmin(_)
        | ChangeRosterError::Members(
            InvalidMembers::DuplicateKey { .. } | InvalidMembers::DuplicateName(_),
        ) => failure.hint(format!("endseal group show {group} prints the members and their names")),
        _ => failure,
    }
}

fn rename(group: &Name, name: &Name, home: &Home, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let current = home.groups().current(group)?;
    if home.contacts()?.find(name.as_str()).is_some() {
        return Err(is_contact(name).hint("give the group another name"));
    }
    // Before anything is signed.
    home.groups().unused(name)?;
    let own = ctx.identity(home).ok().map(|file| *file.public().ed25519());
    let may_change = own.is_some_and(|own| current.may_change(&own));
    if may_change && current.group() != name {
        let mut changes = RosterChanges::new();
        changes.rename(name.clone());
        change(group, &changes, Pq { required: false }, home, ctx)?;
    }
    home.groups().rename(group, name, &home.lock()?)?;
    let roster = home.groups().current(name)?;
    let on = if may_change { "" } else { " on this device" };
    Ok(Outcome::done(format!("{group} is {name}{on}"), summary(name, &roster)))
}

impl Pq {
    fn check(self, members: &[Member]) -> Result<(), Failure> {
        let without = without_pq(members);
        if !self.required || without.is_empty() {
            return Ok(());
        }
        let message = format!("no post-quantum key is known of {}", few(&without));
        Err(Failure::usage(message)
            .hint("ask for the long identity (endsealpq1...), or leave --pq out"))
    }
}

/// Returns the names of members whose identity is short. If there is one, the group's key is sealed
/// to all members without ML-KEM-768.
fn without_pq(members: &[Member]) -> Vec<String> {
    let short = members.iter().filter(|member| member.identity().mlkem768().is_none());
    short.map(|member| member.name().to_string()).collect()
}

fn changed(group: &Name, roster: &Roster, ctx: &mut Ctx) -> Outcome {
    let without = without_pq(roster.members());
    if !without.is_empty() {
        ctx.note(&format!(
            "warning: the group's key is not sealed against quantum computers, as the long identity \
             (endsealpq1...) is not known of {}",
            few(&without)
        ));
    }
    ctx.note("the next endseal sync brings the change to the members");
    Outcome::done(format!("group {group}, {}", state(roster)), summary(group, roster))
}

/// Describes the epoch and the number of members.
fn state(roster: &Roster) -> String {
    format!("epoch {}, {}", roster.epoch(), plural(roster.members().len() as u64, "member"))
}

fn import(
    file: Option<&Path>,
    name: Option<Name>,
    home: &Home,
    ctx: &mut Ctx,
) -> Result<Outcome, Failure> {
    let shown = file.unwrap_or(Path::new("standard input")).to_owned();
    let input = Input::open(file, ctx)?;
    let content = read_bounded(input.reader, &shown, roster::MAX_LEN)?;
    let contacts = home.contacts()?;
    if let Ok(roster) = Roster::parse(&content) {
        let groups = home.groups();
        let is_it = |name| groups.current(name).is_ok_and(|it| it.id() == roster.id());
        let is_known = groups.list()?.iter().any(is_it);
        let name = name.as_ref().unwrap_or(roster.group());
        if !is_known && contacts.find(name.as_str()).is_some() {
            return Err(is_contact(name).hint("give the group another name with --as"));
        }
    }
    let own = ctx.identity(home).ok().map(|file| *file.public().ed25519());
    let trusted = |owner: &ed25519::PublicKey| {
        own.as_ref() == Some(owner) || contacts.name_of(owner).is_some()
    };
    let imported = home.groups().import(&content, name, trusted, &home.lock()?);
    let imported = imported.map_err(|error| match &error {
        endseal_node::ImportError::UnknownOwner(key) => {
            let key = IdentityText::from(PublicIdentity::short(*key));
            let failure = Failure::from(error);
            failure.because_text(format!("the owner is {key}"))
        }
        _ => error.into(),
    })?;
    let (name, roster) = (&imported.name, &imported.roster);
    let epoch = roster.epoch();
    if imported.missing > 0 && epoch > 1 {
        ctx.note(&format!("note: {} earlier epochs are not known here", imported.missing));
    }
    let is_member = |roster: &Roster| own.is_some_and(|key| roster.member_of_key(&key).is_some());
    if own.is_some() && !is_member(roster) {
        let was_member = imported.previous.as_ref().is_some_and(is_member);
        let any_more = if was_member { " any more" } else { "" };
        ctx.note(&format!("note: this identity is no member of the group{any_more}"));
    }
    Ok(Outcome::done(format!("group {name}, {}", state(roster)), summary(name, roster)))
}

fn show(group: &Name, home: &Home, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let roster = home.groups().current(group)?;
    let departures = Departures::load(home, ctx)?;
    let contacts = home.contacts()?;
    let own = ctx.identity(home).ok().map(|file| *file.public().ed25519());
    let known = |key: &ed25519::PublicKey| match contacts.name_of(key) {
        _ if own.as_ref() == Some(key) => "you".to_owned(),
        Some(name) => name.to_string(),
        None => "not a contact".to_owned(),
    };
    let owner = known(roster.owner());
    let refused = not_in_force(group, home)?;
    let part = own.map(|own| OwnPart::of(&own, group, &roster, &departures, home));
    let part = part.map_or("", OwnPart::clause);
    let mut text =
        format!("group  {group}\nepoch  {}{part}{refused}\nowner  {owner}\n\n", roster.epoch());
    let members = roster.members();
    let width = members.iter().map(|m| m.name().as_str().len()).max().unwrap_or_default();
    for member in members {
        let (short, _) = forms(member.identity());
        let who = known(member.identity().ed25519());
        let who = if who == member.name().as_str() { String::new() } else { format!("  ({who})") };
        let has_left = departures.has(&roster, member.identity().ed25519());
        let left = if has_left { "  has left" } else { "" };
        let admin = if roster.is_admin(member.identity().ed25519()) { "  admin" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:width$}  {short}{who}{admin}{left}", member.name());
    }
    Ok(Outcome::new(text, summary(group, &roster)))
}

/// Says that a change by this person did not come into force, and was not repeated.
fn not_in_force(group: &Name, home: &Home) -> Result<&'static str, Failure> {
    Ok(match home.groups().refused(group)?.is_empty() {
        true => "",
        false => ", your last change is not in force",
    })
}

fn list(home: &Home, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let (groups, departures) = (home.groups(), Departures::load(home, ctx)?);
    let own = ctx.identity(home).ok().map(|file| *file.public().ed25519());
    let (mut text, mut entries) = (String::new(), Vec::new());
    for group in groups.list()? {
        let roster = groups.current(&group)?;
        let part = own.map(|own| OwnPart::of(&own, &group, &roster, &departures, home));
        let part = part.map_or("", OwnPart::clause);
        let refused = not_in_force(&group, home)?;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{group}  {}{part}{refused}", state(&roster));
        entries.push(summary(&group, &roster));
    }
    Ok(Outcome::new(text, json::object([("groups", Value::Array(entries))])))
}

/// Parses a contact name or `NAME=IDENTITY`.
fn parse_member(text: &str, ctx: &Ctx) -> Result<Member, Failure> {
    let (name, identity) = match text.split_once('=') {
        Some((name, identity)) => (name, recipients::identity(identity)?),
        None => (text, recipients::person(text, ctx)?),
    };
    let name = Name::new(name).map_err(|error| {
        Failure::usage(format!("'{}' is not a name", typed::shown(name)))
            .because(&error)
            .hint("a member who is not a contact needs a name: NAME=IDENTITY")
    })?;
    Ok(Member::new(name, identity))
}

fn summary(group: &Name, roster: &Roster) -> Value {
    let members = roster.members().iter().map(|member| {
        let (short, long) = forms(member.identity());
        json::object([
            ("name", member.name().as_str().into()),
            ("identity", short.into()),
            ("identity_pq", long.into()),
            ("is_admin", roster.is_admin(member.identity().ed25519()).into()),
        ])
    });
    let owner = IdentityText::from(PublicIdentity::short(*roster.owner())).to_string();
    json::object([
        ("group", group.as_str().into()),
        ("id", roster.id().to_string().into()),
        ("epoch", roster.epoch().into()),
        ("owner", owner.into()),
        ("digest", roster.digest().to_string().into()),
        ("members", members.collect::<Vec<_>>().into()),
    ])
}

//! `endseal session group add`, `remove`, `update`, `accept` and `discard`: changes of members.

use core::num::NonZeroU32;
use core::time::Duration;
use std::path::{Path, PathBuf};

use endseal_node::{read_bounded, sessions};
use endseal_session::group::{Commit, Group, GroupDevice, GroupError, MAX_ADD_LEN};
use endseal_session::{Engine, GroupChangeError};

use super::{Known, Out};
use crate::cmd::session::{Partner, called, plural, shown};
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json::{self, Value};
use crate::output::Input;
use crate::sessions::with;

/// Add devices of a person
///
/// Each key package must be of the person that is named. The file holds the commit, for the
/// members; where this device is alone in the group, the welcome instead, for the new members.
#[derive(clap::Args, Debug)]
pub(crate) struct Add {
    /// Name of the group
    group: String,
    /// Contact or identity
    name: String,
    /// Key packages; - is standard input
    #[arg(required = true, value_name = "KEY-PACKAGE")]
    packages: Vec<PathBuf>,
    #[command(flatten)]
    out: Out,
}

/// Remove all devices of a person
#[derive(clap::Args, Debug)]
pub(crate) struct Remove {
    /// Name of the group
    group: String,
    /// Contact or identity
    name: String,
    /// Remove only the device with this number
    #[arg(long, value_name = "N")]
    device: Option<NonZeroU32>,
    #[command(flatten)]
    out: Out,
}

/// Accept the pending commit, and write the welcome for those whom it adds
///
/// Only when it is certain that all members take this commit and no other as the next one. Without
/// a pending commit, writes a welcome that waits still.
#[derive(clap::Args, Debug)]
pub(crate) struct Accept {
    /// Name of the group
    group: String,
    /// The session file of the welcome
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file
    #[arg(short, long, requires = "output")]
    force: bool,
}

pub(crate) fn add(args: &Add, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    args.out.check()?;
    let partner = Partner::find(&args.name, ctx)?;
    let mut packages = Vec::with_capacity(args.packages.len());
    for path in &args.packages {
        packages.push(key_package(path, &partner, ctx)?);
    }
    let now = Duration::from_millis(ctx.now);
    with(wait, ctx, |engine, ctx| {
        let group = Known::find(&args.group, engine)?;
        let packages = packages.iter().map(Vec::as_slice);
        let what = format!("{} added to", partner.name);
        change(&group, &args.out, &what, engine, ctx, |mls| mls.add(packages, now))
    })
}

/// Reads a key package, and checks that it belongs to the named person.
fn key_package(path: &Path, partner: &Partner, ctx: &mut Ctx) -> Result<Vec<u8>, Failure> {
    let input = Input::open(Some(path), ctx)?;
    let bytes = read_bounded(input.reader, path, MAX_ADD_LEN)?;
    let certificate = GroupDevice::certificate_in(&bytes).map_err(|error| {
        Failure::new(Kind::Refused, format!("'{}' is not a key package", shown(path)))
            .because(&error)
            .hint("ask for another copy; they make one with: endseal session group key-package")
    })?;
    let whose = certificate.address().identity;
    if whose != partner.identity {
        let contacts = ctx.home()?.contacts()?;
        let message = format!("'{}' is not a key package of {}", shown(path), partner.name);
        let cause = format!("it belongs to {}", called(whose, &contacts));
        return Err(Failure::new(Kind::Refused, message).because_text(cause));
    }
    Ok(bytes.to_vec())
}

pub(crate) fn remove(args: &Remove, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    args.out.check()?;
    let partner = Partner::find(&args.name, ctx)?;
    let now = Duration::from_millis(ctx.now);
    with(wait, ctx, |engine, ctx| {
        let group = Known::find(&args.group, engine)?;
        let own = engine.address();
        let mut members = group.summary(engine)?.members;
        members.retain(|it| {
            it.identity == partner.identity
                && args.device.is_none_or(|device| device.get() == it.device.number())
        });
        if members.len() > 1 {
            // Keep the other devices of this identity.
            members.retain(|it| *it != own);
        }
        if members.is_empty() {
            let message = format!("{} is not in the group {}", partner.name, group.name);
            return Err(Failure::usage(message)
                .hint(format!("endseal session group members {}", group.name)));
        }
        let what = format!("{} removed from", partner.name);
        change(&group, &args.out, &what, engine, ctx, |mls| mls.remove(&members, now))
    })
}

pub(crate) fn update(
    name: &str,
    out: &Out,
    wait: Duration,
    ctx: &mut Ctx,
) -> Result<Outcome, Failure> {
    out.check()?;
    let now = Duration::from_millis(ctx.now);
    with(wait, ctx, |engine, ctx| {
        let group = Known::find(name, engine)?;
        change(&group, out, "keys renewed in", engine, ctx, |mls| mls.update(now))
    })
}

/// Makes a commit and writes it. If no other device is in the group, accepts it at once and writes
/// the welcomes.
fn change(
    group: &Known,
    out: &Out,
    what: &str,
    engine: &mut Engine,
    ctx: &mut Ctx,
    work: impl FnOnce(&mut Group) -> Result<Commit, GroupError>,
) -> Result<Outcome, Failure> {
    group.check_outbox(engine)?;
    let before = group.summary(engine)?;
    let is_alone = before.is_member && before.members.len() == 1;
    let file = out.create()?;
    let (id, name) = (&group.id, &group.name);
    let made: Result<(), GroupChangeError> = engine.transaction(|transaction| {
        let number = transaction.commit_group(id, work)?;
        if is_alone {
            transaction.accept_commit(id)?;
            transaction.sent(number)?;
        }
        Ok(())
    });
    made?;
    let conversation = group.conversation();
    let (messages, welcomes, path) = if !is_alone {
        (group.write_outbox(engine, file)?, 0, Some(shown(&out.output)))
    } else if sessions::waiting_welcomes(engine, &conversation)? == 0 {
        (0, 0, None)
    } else {
        let written = sessions::write_welcomes(engine, &conversation, file);
        let written = written.map_err(|error| welcome_waits(error, group))?;
        (0, written, Some(shown(&out.output)))
    };
    let mut text = format!("{what} the group {name}");
    match &path {
        Some(path) if is_alone => text += &format!("; the welcome is in '{path}'"),
        Some(path) => {
            text += &format!(" by the commit in '{path}'");
            ctx.note(&format!(
                "the commit is pending: give the file to the members; when no other commit can come \
                 before it: endseal session group accept {name}"
            ));
        }
        None => {}
    }
    let after = group.summary(engine)?;
    Ok(Outcome::done(
        text,
        json::object([
            ("group", name.clone().into()),
            ("epoch", after.epoch.into()),
            ("pending", after.has_pending.into()),
            ("messages", messages.into()),
            ("welcomes", welcomes.into()),
            ("output", path.into()),
        ]),
    ))
}

pub(crate) fn accept(args: &Accept, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let out = args.output.clone().map(|output| Out { output, force: args.force });
    out.as_ref().map_or(Ok(()), Out::check)?;
    with(wait, ctx, |engine, ctx| {
        let group = Known::find(&args.group, engine)?;
        let (name, conversation) = (&group.name, group.conversation());
        let file = out.as_ref().map(Out::create).transpose()?;
        let is_pending = group.summary(engine)?.has_pending;
        if is_pending {
            engine.transaction(|transaction| transaction.accept_commit(&group.id))?;
        }
        let waiting = sessions::waiting_welcomes(engine, &conversation)?;
        if !is_pending && waiting == 0 {
            return Err(GroupChangeError::Group(GroupError::NothingPending).into());
        }
        let epoch = group.summary(engine)?.epoch;
        let mut text = format!("group {name}, epoch {epoch}");
        let (mut welcomes, mut path) = (0, None);
        match (file, &out) {
            (Some(file), Some(out)) if waiting > 0 => {
                let written = sessions::write_welcomes(engine, &conversation, file);
                welcomes = written.map_err(|error| welcome_waits(error, &group))?;
                path = Some(shown(&out.output));
                text += &format!("; {} in '{}'", plural(welcomes, "welcome"), shown(&out.output));
            }
            _ if waiting > 0 => ctx.note(&format!(
                "{} to be written: endseal session group accept {name} -o FILE",
                plural(waiting, "welcome")
            )),
            _ => {}
        }
        let json = json::object([
            ("group", name.clone().into()),
            ("epoch", epoch.into()),
            ("welcomes", welcomes.into()),
            ("waiting", (waiting - welcomes).into()),
            ("output", path.into()),
        ]);
        Ok(Outcome::done(text, json))
    })
}

/// Adds a hint to an error: the welcome was not written, and is still in the outbox.
fn welcome_waits(error: sessions::WriteOutboxError, group: &Known) -> Failure {
    let name = &group.name;
    Failure::from(error)
        .hint(format!("the welcome waits; write it: endseal session group accept {name} -o FILE"))
}

pub(crate) fn discard(name: &str, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    with(wait, ctx, |engine, _| {
        let group = Known::find(name, engine)?;
        if !group.summary(engine)?.has_pending {
            return Err(GroupChangeError::Group(GroupError::NothingPending).into());
        }
        engine.transaction(|transaction| transaction.discard_commit(&group.id))?;
        let epoch = group.summary(engine)?.epoch;
        let json: Value =
            json::object([("group", group.name.clone().into()), ("epoch", epoch.into())]);
        Ok(Outcome::done(format!("group {}, still epoch {epoch}", group.name), json))
    })
}

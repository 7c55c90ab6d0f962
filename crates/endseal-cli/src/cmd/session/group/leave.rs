//! `endseal session group leave` and `forget`: leave a group, and delete it.

use core::time::Duration;

use super::{Known, Out};
use crate::cmd::session::{ask, shown};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;
use crate::sessions::with;

/// Propose to the others that this device leaves
///
/// The file is for the members. This device stays in the group until one of them makes a commit
/// (update), but sends no more texts. It can forget the group at once.
#[derive(clap::Args, Debug)]
pub(crate) struct Leave {
    /// Name of the group
    group: String,
    #[command(flatten)]
    out: Out,
}

/// Delete a group from this device
///
/// Deletes its keys, messages parked for it, and a pending commit with its welcomes. Texts of the
/// group stay in the inbox. The other members do not learn of it: leave the group first.
#[derive(clap::Args, Debug)]
pub(crate) struct Forget {
    /// Name of the group
    group: String,
    /// Do not ask for a confirmation
    #[arg(short, long)]
    yes: bool,
}

pub(crate) fn leave(args: &Leave, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    args.out.check()?;
    with(wait, ctx, |engine, _| {
        let group = Known::find(&args.group, engine)?;
        let name = &group.name;
        group.check_outbox(engine)?;
        let summary = group.summary(engine)?;
        if summary.is_member && summary.members.len() == 1 {
            return Err(Failure::usage(format!("no other device is in the group {name}"))
                .hint(format!("endseal session group forget {name}")));
        }
        let file = args.out.create()?;
        engine.transaction(|transaction| transaction.leave_group(&group.id))?;
        let messages = group.write_outbox(engine, file)?;
        let path = shown(&args.out.output);
        let text = format!("leaving the group {name}: the proposal is in '{path}'");
        let json = json::object([
            ("group", name.clone().into()),
            ("messages", messages.into()),
            ("output", path.into()),
        ]);
        Ok(Outcome::done(text, json))
    })
}

pub(crate) fn forget(args: &Forget, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    with(wait, ctx, |engine, _| {
        let group = Known::find(&args.group, engine)?;
        if !args.yes {
            ask(&format!("Delete the keys of the group {}? [y/N] ", group.name))?;
        }
        engine.transaction(|transaction| transaction.forget_group(&group.id))?;
        let json = json::object([("group", group.name.clone().into())]);
        Ok(Outcome::done(format!("group {} forgotten", group.name), json))
    })
}

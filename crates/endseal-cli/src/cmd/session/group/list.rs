//! `endseal session group list` and `members`: show groups and their members.

use core::fmt::Write as _;
use core::time::Duration;

use base16ct::lower::encode_string as hex;
use endseal_keyring::Contacts;
use endseal_keyring::device::Address;
use endseal_node::messages::carried_groups;
use endseal_session::{EngineError, GroupSummary};
use endseal_store::SessionStatus;

use super::Known;
use super::inbox::group_name;
use crate::cmd::session::called;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::names::identity_text;
use crate::printable::plural;
use crate::sessions::with;

pub(crate) fn list(wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    with(wait, ctx, |engine, _| {
        let (mut text, mut entries) = (String::new(), Vec::new());
        for id in carried_groups(engine)? {
            let name = group_name(&id);
            let entry = match engine.group(&id) {
                Ok(Some(group)) => {
                    // Writing to a string cannot fail.
                    let _ = writeln!(text, "{name}  {}", state(&group));
                    [fields(&name, &group), vec![("damaged", false.into())]].concat()
                }
                Ok(None) => continue,
                Err(EngineError::Damaged(_)) => {
                    let _ = writeln!(text, "{name}  damaged");
                    vec![("group", name.into()), ("damaged", true.into())]
                }
                Err(error) => return Err(error.into()),
            };
            entries.push(object(entry, ("id", hex(&id).into())));
        }
        Ok(Outcome::new(text, json::object([("groups", Value::Array(entries))])))
    })
}

/// Describes the state of a group in one line.
fn state(group: &GroupSummary) -> String {
    let mut text =
        format!("epoch {}, {}", group.epoch, plural(group.members.len() as u64, "member"));
    for (is_so, words) in [
        (!group.is_member, "this device was removed"),
        (group.status == SessionStatus::NeedsReset, "restored: this device must be added again"),
        (group.has_pending, "a commit is pending"),
        (group.needs_commit, "proposals wait for a commit (update)"),
    ] {
        if is_so {
            text = text + ", " + words;
        }
    }
    text
}

fn object(fields: Vec<(&str, Value)>, last: (&str, Value)) -> Value {
    let fields = fields.into_iter().chain([last]);
    Value::Object(fields.map(|(name, value)| (name.to_owned(), value)).collect())
}

fn fields(name: &str, group: &GroupSummary) -> Vec<(&'static str, Value)> {
    vec![
        ("group", name.into()),
        ("epoch", group.epoch.into()),
        ("member", group.is_member.into()),
        ("pending", group.has_pending.into()),
        ("needs_commit", group.needs_commit.into()),
        ("restored", (group.status == SessionStatus::NeedsReset).into()),
        ("members", (group.members.len() as u64).into()),
    ]
}

pub(crate) fn members(name: &str, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let contacts = ctx.home()?.contacts()?;
    with(wait, ctx, |engine, _| {
        let known = Known::find(name, engine)?;
        let group = known.summary(engine)?;
        let own = engine.address();
        let mut text = format!("{}\n", state(&group));
        for member in &group.members {
            let mark = if *member == own {
                "  (this device)"
            } else if group.superseded.contains(member) {
                "  (replaced by a later device: remove it)"
            } else {
                ""
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}{mark}", device(member, &contacts));
        }
        let list = group.members.iter().map(|it| member_json(it, &contacts));
        let members = Value::Array(list.collect());
        let superseded = group.superseded.iter().map(|it| member_json(it, &contacts));
        let mut fields = fields(&known.name, &group);
        fields.retain(|(field, _)| *field != "members");
        fields.push(("superseded", Value::Array(superseded.collect())));
        Ok(Outcome::new(text, object(fields, ("members", members))))
    })
}

/// Formats a device: the name of its person, and its number.
pub(super) fn device(address: &Address, contacts: &Contacts) -> String {
    format!("{}  device {}", called(address.identity, contacts), address.device)
}

pub(super) fn member_json(address: &Address, contacts: &Contacts) -> Value {
    json::object([
        ("name", contacts.name_of(&address.identity).map(ToString::to_string).into()),
        ("identity", identity_text(address.identity).into()),
        ("device", address.device.number().into()),
    ])
}

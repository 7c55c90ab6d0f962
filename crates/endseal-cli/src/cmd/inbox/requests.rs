//! `endseal inbox --requests`, and the note about waiting requests.

use endseal_node::api::{CallError, Reply, Request};

use super::super::block::person_rules;
use super::{line, shown};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::names::Names;
use crate::node_access::NodeAccess;
use crate::waiting_requests;

/// Prints the texts of all requests. They stay requests.
pub(super) fn list(
    names: &Names,
    node: &mut NodeAccess<'_>,
    ctx: &mut Ctx,
) -> Result<Outcome, Failure> {
    let (own, mut after, mut is_empty) = (node.own(), 0, true);
    loop {
        let Reply::Texts(page) = node.call(Request::Requests { after })? else {
            return Err(CallError::Unexpected.into());
        };
        for row in &page.rows {
            is_empty = false;
            let line = match ctx.global.json {
                true => line(row, &own, names, true),
                false => shown(&names.identified(&row.from), row),
            };
            ctx.print(line.as_bytes())?;
        }
        match page.next {
            Some(next) => after = next,
            None => break,
        }
    }
    if !is_empty {
        ctx.note(
            "hint: endseal contacts add NAME IDENTITY accepts a person, endseal block IDENTITY \
             deletes the request",
        );
    }
    Ok(Outcome::default())
}

/// Says that requests wait.
pub(super) fn note(names: &Names, node: &mut NodeAccess<'_>, ctx: &mut Ctx) -> Result<(), Failure> {
    let rules = person_rules(node)?;
    let persons: Vec<_> = rules.iter().filter(|it| it.requests > 0).map(|it| it.person).collect();
    if !persons.is_empty() {
        let text = waiting_requests::text(&persons, names);
        ctx.note(&format!("note: {text}: endseal inbox --requests"));
    }
    Ok(())
}

//! `endseal hub invitations`: lists and revokes invitations.

use core::fmt::Write as _;

use endseal_keyring::Name;

use super::place::{self, Place};
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json::{self, Value};
use crate::time;

/// List the invitations with which devices can still join
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Revoke the invitations of this name
    #[arg(long, value_name = "NAME")]
    revoke: Option<Name>,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let mut store = args.place.store(ctx)?;
    if let Some(name) = &args.revoke {
        let mut revoked = 0;
        let done = store.transact(&mut |transaction| {
            revoked = transaction.revoke_invitations(name.as_str())?;
            Ok(())
        });
        done.map_err(|error| place::storage(&error))?;
        if revoked == 0 {
            let text = format!("there is no invitation '{name}'");
            return Err(Failure::new(Kind::Refused, text).hint("endseal hub invitations"));
        }
        let json = json::object([("revoked", revoked.into())]);
        return Ok(Outcome::done(format!("{revoked} revoked"), json));
    }
    let invitations = store.invitations().map_err(|error| place::storage(&error))?;
    let (mut text, mut list) = (String::new(), Vec::new());
    let now = ctx.now.saturating_mul(1_000);
    for it in invitations.iter().filter(|it| it.expires > now) {
        let (name, uses, expires) = (&it.name, it.uses, it.expires / 1_000);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}  {uses} left  until {}", time::local(expires));
        list.push(json::object([
            ("name", name.as_str().into()),
            ("uses", uses.into()),
            ("expires", time::rfc3339(expires).into()),
        ]));
    }
    Ok(Outcome::new(text, json::object([("invitations", Value::Array(list))])))
}

//! `endseal signer rename`: gives an app another name.

use endseal_signer::control::{Command, Reply};

use super::access;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;
use crate::printable::printable;

/// Give an app another name
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Name or number of the app
    app: String,
    /// New name
    name: String,
}

pub(super) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let Args { app, name } = args;
    let text = format!("'{}' is '{}' now", printable(&app), printable(&name));
    let json = json::object([("app", app.as_str().into()), ("name", name.as_str().into())]);
    let Reply::Done = access::ask(Command::Rename { app, name }, ctx)? else {
        return Err(access::unexpected());
    };
    Ok(Outcome::done(text, json))
}

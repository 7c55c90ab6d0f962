//! `endseal signer revoke`: ends an app.

use endseal_signer::control::{Command, Reply};

use super::access;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;

/// End an app: its requests get an error from then on
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Name or number of the app
    app: String,
}

pub(super) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let reply = access::ask(Command::Revoke { app: args.app.clone() }, ctx)?;
    let Reply::Done = reply else { return Err(access::unexpected()) };
    let json = json::object([("app", args.app.into())]);
    Ok(Outcome::done("the app is revoked", json))
}

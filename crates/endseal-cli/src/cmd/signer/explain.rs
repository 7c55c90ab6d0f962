//! `endseal signer explain`: shows the decision on a request.

use endseal_signer::control::{Command, Reply};

use super::access;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::printable::printable;

/// Show how a request of an app would be decided now, and by which rule
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Name or number of the app
    app: String,
    /// For example sign:4, nip44_decrypt:NPUB, sign:22242:RELAY
    action: String,
}

pub(super) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let reply = access::ask(Command::Explain { app: args.app, action: args.action }, ctx)?;
    let Reply::Explained { verdict, rule, reasons } = reply else {
        return Err(access::unexpected());
    };
    let reasons: Vec<_> = reasons.lines().collect();
    let text: String = reasons.iter().map(|reason| printable(reason) + "\n").collect();
    let json = json::object([
        ("verdict", verdict.into()),
        ("rule", rule.into()),
        ("reasons", reasons.into_iter().map(Value::from).collect()),
    ]);
    Ok(Outcome::new(text, json))
}

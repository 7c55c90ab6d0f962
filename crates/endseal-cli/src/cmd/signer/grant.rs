//! `endseal signer grant`: adds rules to an app, or removes one.

use core::time::Duration;

use endseal_signer::control::{Command, Reply, Requested};

use super::rules::{self, Limits, Rules};
use super::{access, apps};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;

/// Add rules to an app, or remove one
///
/// Rules that deny come before those that allow, and those before rules that ask.
#[derive(clap::Args, Debug)]
#[group(id = "change", required = true, multiple = true, args = ["allow", "deny", "ask", "trust", "remove", "requested"])]
pub(super) struct Args {
    /// Name or number of the app
    app: String,
    #[command(flatten)]
    rules: Rules,
    #[command(flatten)]
    limits: Limits,
    /// The rules expire after this time [default: never]
    #[arg(long = "for", value_name = "TIME", value_parser = rules::lifetime())]
    lifetime: Option<Duration>,
    /// Allow what the app asks for, as endseal signer apps shows it
    ///
    /// Kinds that act elsewhere, as log-ins and tokens do, are asked for each time.
    #[arg(long, conflicts_with_all = ["allow", "deny", "ask", "trust"])]
    requested: bool,
    /// Remove the rule with this number
    #[arg(long, value_name = "N", conflicts_with_all = ["allow", "deny", "ask", "trust", "lifetime", "requested"])]
    remove: Option<u32>,
}

pub(super) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    if let Some(rule) = args.remove {
        let command = Command::RemoveRule { app: args.app, rule };
        let Reply::Done = access::ask(command, ctx)? else { return Err(access::unexpected()) };
        return Ok(outcome(format!("rule {rule} is removed"), Vec::new(), Some(rule)));
    }
    let command = if args.requested {
        let Reply::Apps(all) = access::ask(Command::Apps, ctx)? else {
            return Err(access::unexpected());
        };
        let app = apps::find(all, &args.app)?;
        apps::tell_requested(&app, ctx);
        let lifetime = args.lifetime.map(|it| it.as_secs());
        // What was printed: the client may ask for more meanwhile.
        let requested = Requested { rules: app.requested, lifetime };
        Command::GrantRequested { app: app.number.to_string(), requested }
    } else {
        args.rules.tell(ctx);
        let grants = args.rules.grants(&args.limits, args.lifetime);
        Command::Grant { app: args.app, grants }
    };
    let reply = access::ask(command, ctx)?;
    let Reply::Granted(rules) = reply else { return Err(access::unexpected()) };
    let numbers: Vec<_> = rules.iter().map(ToString::to_string).collect();
    let noun = if rules.len() == 1 { "rule" } else { "rules" };
    Ok(outcome(format!("added: {noun} {}", numbers.join(", ")), rules, None))
}

fn outcome(done: String, added: Vec<u32>, removed: Option<u32>) -> Outcome {
    Outcome::done(done, json::object([("rules", added.into()), ("removed", removed.into())]))
}

//! `endseal signer approve`: allows a waiting request.

use core::time::Duration;

use endseal_signer::control::{Command, Remember, Reply, Requested};

use super::access;
use super::decision::Decision;
use crate::ctx::{Ctx, Outcome};
use crate::duration::DAY;
use crate::failure::Failure;
use crate::printable::printable;

/// Allow a request that waits
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    decision: Decision,
    /// Allow all that the app asks for, too, for the time of --remember or 30 days
    ///
    /// Kinds that act elsewhere, as log-ins and tokens do, are asked for each time.
    #[arg(long)]
    all_requested: bool,
}

/// Time for which all that an app asks for is allowed if no other was chosen.
const ALL_LIFETIME: Duration = Duration::from_secs(30 * DAY.as_secs());

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    if !args.all_requested {
        let command = |id, remember| Command::Approve { id, remember, requested: None };
        return args.decision.run(command, "allowed", ctx);
    }
    let waiting = access::ask_running(Command::Waiting { id: Some(args.decision.id()) }, ctx)?;
    let Reply::Waiting(waiting) = waiting else { return Err(access::unexpected()) };
    let request = waiting.into_iter().next().ok_or_else(access::unexpected)?;
    let asks: Vec<_> = request.requested.iter().map(|it| printable(it).to_string()).collect();
    let app = printable(&request.app);
    ctx.note(&format!("note: '{app}' asks for {}", asks.join(", ")));
    // What was printed: the client may ask for more meanwhile.
    let command = |id, remember: Option<Remember>| {
        let lifetime = remember.map_or(Some(ALL_LIFETIME.as_secs()), |it| it.lifetime);
        let requested = Some(Requested { rules: request.requested, lifetime });
        Command::Approve { id, remember: None, requested }
    };
    args.decision.run(command, "allowed, and all that its app asks for", ctx)
}

//! `endseal signer reinvite`: a new `bunker://` URL for an app whose client has lost its key.

use endseal_signer::control::{Command, Reply};

use super::access::{self, Source};
use super::invite::{Invitation, advise};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;

/// Make a new bunker:// URL for an app, which keeps its rules
///
/// For a client that has lost its key, or that moves to another device. The client that was
/// connected is refused from then on.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Name or number of the app
    app: String,
    #[command(flatten)]
    invitation: Invitation,
}

pub(super) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let mut source = Source::find(ctx)?;
    let destination = args.invitation.destination()?;
    let command = Command::Reinvite { app: args.app, invitation: args.invitation.seconds() };
    let reply = source.ask(command, ctx)?;
    let Reply::Invited { app, uri: Some(uri), .. } = reply else {
        return Err(access::unexpected());
    };
    let outcome = destination.write(app, uri.expose_secret(), ctx)?;
    advise(app, false, source.runs(), ctx);
    Ok(outcome)
}

//! `endseal signer approve`: allows a waiting request.

use endseal_signer::control::Command;

use super::decision::Decision;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;

/// Allow a request that waits
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    decision: Decision,
}

pub(super) fn run(args: &Args, ctx: &Ctx) -> Result<Outcome, Failure> {
    args.decision.run(|id, remember| Command::Approve { id, remember }, "allowed", ctx)
}

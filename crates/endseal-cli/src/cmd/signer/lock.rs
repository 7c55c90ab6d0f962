//! `endseal signer lock`: wipes the users' keys of a running signer.

use endseal_signer::control::{Command, Reply};

use super::access;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;

/// Have a running signer forget the users' keys until endseal signer unlock
///
/// Apps stay connected, and their requests get an error.
#[derive(clap::Args, Debug)]
pub(super) struct Args {}

pub(super) fn run(_: &Args, ctx: &Ctx) -> Result<Outcome, Failure> {
    let Reply::Done = access::ask_running(Command::Lock, ctx)? else {
        return Err(access::unexpected());
    };
    Ok(Outcome::done("the signer is locked", json::object([("unlocked", false.into())])))
}

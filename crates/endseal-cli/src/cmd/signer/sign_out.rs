//! `endseal signer sign-out`: ends the sessions of all browsers.

use endseal_signer::control::{Command, Reply};

use super::access;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;

/// Sign all browsers out of the page of endseal signer run --page
///
/// A sign-in link that was not used ends, too.
#[derive(clap::Args, Debug)]
pub(super) struct Args {}

pub(super) fn run(_: &Args, ctx: &Ctx) -> Result<Outcome, Failure> {
    let Reply::SignedOut(count) = access::ask_running(Command::SignOut, ctx)? else {
        return Err(access::unexpected());
    };
    let text = match count {
        0 => "no browser was signed in".to_owned(),
        1 => "one browser was signed out".to_owned(),
        _ => format!("{count} browsers were signed out"),
    };
    Ok(Outcome::done(text, json::object([("signed_out", count.into())])))
}

//! `endseal signer sign-in`: prints a sign-in link for a browser.

use endseal_crypto::secret::Zeroizing;
use endseal_signer::control::{Command, Reply};

use super::access;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;

/// Print a link that signs a browser in to the page of endseal signer run --page
///
/// It works once, for five minutes. The browser stays signed in for twelve hours.
#[derive(clap::Args, Debug)]
pub(super) struct Args {}

pub(super) fn run(_: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let Reply::Link(link) = access::ask_running(Command::SignIn, ctx)? else {
        return Err(access::unexpected());
    };
    let link = link.expose_secret();
    if ctx.global.json {
        return Ok(Outcome::new("", json::object([("url", link.into())])));
    }
    let mut line = Zeroizing::new(String::with_capacity(link.len() + 1));
    line.push_str(link);
    line.push('\n');
    ctx.print(line.as_bytes())?;
    Ok(Outcome::default())
}

//! `endseal signer unlock`: gives a running signer its passphrase.

use endseal_crypto::secret::Zeroizing;
use endseal_signer::control::{Command, Reply, Request, call};

use super::access::{self, PROMPT};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::{json, passphrase};

/// Give a running signer the passphrase after endseal signer lock
#[derive(clap::Args, Debug)]
pub(super) struct Args {}

pub(super) fn run(_: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let directory = access::directory(ctx)?;
    // Check that it is running before the user types a passphrase.
    access::ask_running(Command::Status, ctx)?;
    let reply = passphrase::open(PROMPT, ctx, |passphrase| {
        access::with_forms(passphrase, |form| {
            let secret = Zeroizing::new(form.as_bytes().to_vec());
            Ok(call(&directory, &Request { command: Command::Unlock, secret })?)
        })
    })?;
    let Reply::Done = reply else { return Err(access::unexpected()) };
    Ok(Outcome::done("the signer is unlocked", json::object([("unlocked", true.into())])))
}

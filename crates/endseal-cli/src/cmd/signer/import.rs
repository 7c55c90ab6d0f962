//! `endseal signer import`: adds a user's secret key.

use std::path::{Path, PathBuf};

use endseal_crypto::secret::Zeroizing;
use endseal_signer::control::{CallError, Command, Reply, Request, call};

use super::access::{self, PROMPT};
use super::device;
use crate::cmd::nostr::{peer, secret};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;
use crate::output::DASH;
use crate::passphrase;

/// Add a user's secret key: nsec1..., ncryptsec1... or 64 hexadecimal digits
///
/// A passphrase that is not typed opens both an encrypted key and the signer. If they differ, pass
/// the key through endseal nostr key decrypt.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Name of the key for people
    #[arg(long, value_name = "TEXT", default_value = "")]
    label: String,
    /// File with the key [default: standard input, without --device]
    input: Option<PathBuf>,
    /// Serial port of a device that has the key, or gets it from the file
    ///
    /// The signer keeps the public key alone. Press the button of the device when its light
    /// flashes three times.
    #[arg(long, value_name = "PATH")]
    device: Option<PathBuf>,
    /// Let the device create a key, of which there is no copy
    #[arg(long, requires = "device", conflicts_with = "input")]
    create: bool,
    #[command(flatten)]
    cost: secret::MaxCost,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    if let Some(port) = &args.device {
        access::directory(ctx)?;
        let key = match &args.input {
            Some(input) => Some(secret::read(input, &args.cost, ctx)?.0),
            None => None,
        };
        return device::import(port, key.as_ref(), args.create, &args.label, ctx);
    }
    let directory = access::directory(ctx)?;
    let input = args.input.as_deref().unwrap_or(Path::new(DASH));
    if input.as_os_str() == DASH && passphrase::is_on_standard_input(ctx)? {
        return Err(Failure::usage("the key and the passphrase cannot both be standard input")
            .hint("name a file for one of them"));
    }
    let (key, _) = secret::read(input, &args.cost, ctx)?;
    let now = ctx.now / 1000;
    let npub = peer::npub(&key.public_key());
    let reply = passphrase::open(PROMPT, ctx, |passphrase| {
        access::with_forms(passphrase, |form| {
            let secret = Zeroizing::new([&key.expose_secret()[..], form.as_bytes()].concat());
            let command = Command::Import { label: args.label.clone() };
            let request = Request { command, secret };
            match call(&directory, &request) {
                Err(CallError::NotRunning) => {
                    Ok(access::open_as(&directory, form)?.command(now, request)?)
                }
                reply => Ok(reply?),
            }
        })
    })?;
    let Reply::Imported(public_key) = reply else { return Err(access::unexpected()) };
    let json = json::object([("public_key", public_key.into()), ("npub", npub.clone().into())]);
    Ok(Outcome::done(format!("the signer has the key of {npub}"), json))
}

//! `endseal signer run`: answers the requests of apps.

use core::net::SocketAddr;
use std::path::PathBuf;

use endseal_signer::{Listening, Options};

use super::{access, failures};
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::log::{self, Level};
use crate::{interrupt, json};

/// Answer apps until ^C
///
/// It prints a line when it accepts commands.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Relay instead of those before, from now on; repeatable
    #[arg(long, value_name = "URL")]
    relay: Vec<String>,
    /// Address to listen on for /metrics, /healthz and /readyz
    #[arg(long, value_name = "IP:PORT")]
    listen: Option<SocketAddr>,
    /// Address of a page on which a browser allows or denies what waits
    ///
    /// Apps send their users there, who have five minutes instead of one. endseal signer sign-in
    /// signs a browser in.
    #[arg(long, value_name = "IP:PORT")]
    page: Option<SocketAddr>,
    /// URL of that page as browsers reach it [default: a random name below localhost]
    ///
    /// A page at 127.0.0.1 or ::1 needs none for Chromium and Firefox. With http://127.0.0.1:PORT,
    /// which Safari needs, a program of another account on this machine can get the session of a
    /// browser: it lures the browser to another port of that address.
    #[arg(long, value_name = "URL", requires = "page")]
    page_url: Option<String>,
    /// SOCKS5 proxy for connections to relays
    #[arg(long, value_name = "IP:PORT")]
    proxy: Option<SocketAddr>,
    /// Connect to relays of nostrconnect:// URIs at private addresses, too
    ///
    /// Relays of init, run and invite may have any address without it. endseal signer connect has
    /// an option of its own for unencrypted relays.
    #[arg(long)]
    allow_private: bool,
    /// Method beyond NIP-46 that apps may use
    #[arg(long, value_name = "METHOD")]
    extension: Vec<Extension>,
    /// Serial port of a device with the key of a user; repeatable
    ///
    /// The device signs, encrypts and decrypts for this user, after its button was pressed. endseal
    /// signer import --device makes the user known. A device that is unplugged may come back.
    #[arg(long, value_name = "PATH")]
    device: Vec<PathBuf>,
    /// Least severe events that are logged on standard error
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: Level,
}

/// Methods beyond NIP-46 that can be enabled.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Extension {
    /// Opens a list of gift wraps, each by the kind of the message in it
    #[value(name = "nip17_unwrap_batch")]
    Nip17UnwrapBatch,
}

pub(super) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let directory = access::directory(ctx)?;
    // Check before the user types a passphrase.
    if access::is_running(&directory) {
        return Err(failures::runs(&directory));
    }
    let signer = access::open(&directory, ctx)?;
    let level = if ctx.global.quiet { Level::Off } else { args.log };
    let _log = log::start(level).map_err(|error| {
        Failure::new(Kind::Environment, "the log cannot be written").because(&error)
    })?;
    let options = Options {
        relays: args.relay,
        metrics: args.listen,
        page: args.page,
        page_url: args.page_url,
        proxy: args.proxy,
        allow_private: args.allow_private,
        devices: args.device,
        unwrap_batch: args.extension.contains(&Extension::Nip17UnwrapBatch),
    };
    let mut unreported = None;
    let outcome = signer.run(ctx.now / 1000, &options, &mut |listening| {
        interrupt::release();
        unreported = tell(ctx, &listening).err();
        unreported.is_none()
    });
    match (unreported, outcome) {
        (Some(failure), _) => Err(failure),
        (None, Ok(())) => Ok(Outcome::default()),
        (None, Err(error)) => Err(failures::run(error)),
    }
}

/// Prints that the signer is running, and its addresses.
fn tell(ctx: &mut Ctx, listening: &Listening) -> Result<(), Failure> {
    let metrics = listening.metrics.map(|address| format!("http://{address}/metrics"));
    let page = listening.page.clone();
    if ctx.global.json {
        let object = json::object([("metrics", metrics.into()), ("page", page.into())]);
        return ctx.print(json::line(&object).as_bytes());
    }
    let mut text = "the signer runs\n".to_owned();
    if let Some(metrics) = metrics {
        text.push_str(&format!("metrics at {metrics}\n"));
    }
    if let Some(page) = page {
        text.push_str(&format!("page at {page}; sign a browser in with: endseal signer sign-in\n"));
    }
    ctx.print(text.as_bytes())
}

//! `endseal signer connect`: accepts the URI of a client.

use core::time::Duration;
use std::path::Path;

use endseal_node::read_bounded;
use endseal_signer::control::{Command, Reply, SecretText};

use super::access;
use super::invite::{advise, user};
use super::rules::{self, Limits, Rules};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;
use crate::output::{DASH, Input};

/// Have a running signer accept the nostrconnect:// URI that a client shows
///
/// The URI holds a secret, and other processes can read arguments: give - and the URI on standard
/// input.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The URI; - is standard input
    uri: String,
    /// Name of the app [default: that of the URI]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    rules: Rules,
    #[command(flatten)]
    limits: Limits,
    /// The app and its rules expire after this time [default: never]
    #[arg(long = "for", value_name = "TIME", value_parser = rules::lifetime())]
    lifetime: Option<Duration>,
    /// The user whose key signs; needed if there are several
    #[arg(long, value_name = "NPUB")]
    user: Option<String>,
    /// Accept ws:// relays in the URI beyond this machine and .onion names, too
    ///
    /// To connect to them at private addresses, run needs its --allow-private as well.
    #[arg(long)]
    allow_private: bool,
}

/// Limit on the length of a URI in bytes.
const MAX_LEN: usize = 8192;

pub(super) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let has_no_rules = args.rules.is_empty();
    let command = Command::Connect {
        name: args.name,
        user: user(args.user.as_deref())?,
        grants: args.rules.grants(&args.limits, args.lifetime),
        lifetime: args.lifetime.map(|it| it.as_secs()),
        allow_private: args.allow_private,
        uri: read(args.uri, ctx)?,
    };
    let reply = access::ask_running(command, ctx)?;
    let Reply::Invited { app, .. } = reply else { return Err(access::unexpected()) };
    advise(app, has_no_rules, true, ctx);
    Ok(Outcome::done(
        format!(
            "app {app} is added; the running signer greets its client over the relays of the URI"
        ),
        json::object([("app", app.into())]),
    ))
}

fn read(typed: String, ctx: &mut Ctx) -> Result<SecretText, Failure> {
    if typed != DASH {
        ctx.note("warning: other processes can read the secret of a URI that is an argument");
        return Ok(SecretText::new(typed));
    }
    let input = Input::open(None, ctx)?;
    let content = read_bounded(input.reader, Path::new("standard input"), MAX_LEN)?;
    let text = core::str::from_utf8(content.trim_ascii());
    let text = text.map_err(|_| Failure::usage("the input is no text in UTF-8"))?;
    Ok(SecretText::new(text.to_owned()))
}

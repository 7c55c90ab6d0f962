//! `endseal signer connect`: accepts the URI of a client.

use core::time::Duration;
use std::path::Path;

use endseal_node::read_bounded;
use endseal_signer::control::{Command, GreetedRelay, Reply, SecretText};

use super::access;
use super::invite::{advise, user};
use super::rules::{self, Limits, Rules};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::output::{DASH, Input};
use crate::printable::printable;

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
    /// Answer the client by the user's key, as nostr-login needs
    ///
    /// Relays can then see whose app it is.
    #[arg(long)]
    as_user_key: bool,
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
    args.rules.tell(ctx);
    let command = Command::Connect {
        name: args.name,
        user: user(args.user.as_deref())?,
        grants: args.rules.grants(&args.limits, args.lifetime),
        lifetime: args.lifetime.map(|it| it.as_secs()),
        allow_private: args.allow_private,
        as_user_key: args.as_user_key,
        uri: read(args.uri, ctx)?,
    };
    let reply = access::ask_running(command, ctx)?;
    let Reply::Invited { app, greeted, .. } = reply else { return Err(access::unexpected()) };
    for GreetedRelay { relay, failure } in &greeted {
        if let Some(failure) = failure {
            let (relay, failure) = (printable(relay), printable(failure));
            ctx.note(&format!("warning: '{relay}' did not take the greeting: {failure}"));
        }
    }
    advise(app, has_no_rules, true, ctx);
    let taken = greeted.iter().filter(|it| it.failure.is_none()).count();
    let all = greeted.len();
    let json = json::object([
        ("app", app.into()),
        ("greeted", greeted.into_iter().map(greeted_json).collect()),
    ]);
    let text = match taken {
        0 => format!("app {app} is added; no relay of the URI has taken its greeting yet"),
        _ => format!("app {app} is added; {taken} of {all} relays of the URI took its greeting"),
    };
    let again = "the running signer repeats it for ten minutes, until the client answers";
    Ok(Outcome::done(format!("{text}; {again}"), json))
}

fn greeted_json(greeted: GreetedRelay) -> Value {
    json::object([
        ("relay", greeted.relay.into()),
        ("taken", greeted.failure.is_none().into()),
        ("failure", greeted.failure.into()),
    ])
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

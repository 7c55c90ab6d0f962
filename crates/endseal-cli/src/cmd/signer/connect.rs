//! `endseal signer connect`: accepts the URI of a client.

use core::time::Duration;
use std::path::Path;

use endseal_node::read_bounded;
use endseal_signer::control::{Command, GreetedRelay, Reply, SecretText};

use super::invite::{advise, user};
use super::rules::{self, Limits, Rules};
use super::{access, apps};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::output::{DASH, Input};
use crate::printable::{plural, printable};

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
    /// Answer the client by the user's key, as NDK up to 2.18 needs
    ///
    /// Relays can then see whose app it is.
    #[arg(long)]
    as_user_key: bool,
    /// Accept ws:// relays in the URI beyond this machine and .onion names, too
    ///
    /// To connect to them at private addresses, run needs its --allow-private as well.
    #[arg(long)]
    allow_private: bool,
    /// Allow what the URI asks for; it is printed
    ///
    /// Kinds that act elsewhere, as log-ins and tokens do, are asked for each time.
    #[arg(long)]
    grant_requested: bool,
}

/// Limit on the length of a URI in bytes.
const MAX_LEN: usize = 8192;

pub(super) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let has_no_rules = args.rules.is_empty() && !args.grant_requested;
    args.rules.tell(ctx);
    let command = Command::Connect {
        name: args.name,
        user: user(args.user.as_deref())?,
        grants: args.rules.grants(&args.limits, args.lifetime),
        lifetime: args.lifetime.map(|it| it.as_secs()),
        allow_private: args.allow_private,
        as_user_key: args.as_user_key,
        grant_requested: args.grant_requested,
        uri: read(args.uri, ctx)?,
    };
    let reply = access::ask_running(command, ctx)?;
    let Reply::Invited { app, greeted, ignored_relays, .. } = reply else {
        return Err(access::unexpected());
    };
    let Reply::Apps(apps) = access::ask_running(Command::Apps, ctx)? else {
        return Err(access::unexpected());
    };
    let added = apps.into_iter().find(|it| it.number == app).ok_or_else(access::unexpected)?;
    apps::tell_requested(&added, ctx);
    if ignored_relays > 0 {
        let ignored = plural(ignored_relays as u64, "relay");
        ctx.note(&format!("warning: {ignored} of the URI cannot be used: no ws:// or wss:// URL"));
    }
    for GreetedRelay { relay, failure } in &greeted {
        if let Some(failure) = failure {
            let (relay, failure) = (printable(relay), printable(failure));
            ctx.note(&format!("warning: '{relay}' did not take the greeting: {failure}"));
        }
    }
    advise(app, has_no_rules, true, ctx);
    let taken = greeted.iter().filter(|it| it.failure.is_none()).count();
    let all = greeted.len();
    let name = printable(&added.name).to_string();
    let json = json::object([
        ("app", app.into()),
        ("name", added.name.into()),
        ("requested", added.requested.into()),
        ("not_understood", added.not_understood.into()),
        ("greeted", greeted.into_iter().map(greeted_json).collect()),
    ]);
    let text = match taken {
        0 => {
            format!("app {app}, '{name}', is added; no relay of the URI has taken its greeting yet")
        }
        _ => format!(
            "app {app}, '{name}', is added; {taken} of {all} relays of the URI took its greeting"
        ),
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

//! `endseal signer status`: shows the state of the signer.

use core::fmt::Write as _;

use endseal_signer::control::{AppRelays, Command, IgnoredView, Reply, UserView};

use super::access::{self, Source};
use crate::cmd::nostr::peer;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::printable::printable;

/// Show if the signer runs, and its users and relays
///
/// Users and relays of a signer that does not run are shown if its passphrase is given by an
/// option, the environment or the configuration: it is not asked for.
#[derive(clap::Args, Debug)]
pub(super) struct Args {}

pub(super) fn run(_: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let mut source = Source::find(ctx)?;
    if source.would_ask(ctx)? {
        let json = json::object([("runs", false.into()), ("unlocked", false.into())]);
        return Ok(Outcome::new("signer   does not run\n", json));
    }
    let reply = source.ask(Command::Status, ctx)?;
    let Reply::Status(status) = reply else { return Err(access::unexpected()) };
    let runs = source.runs();
    let state = match (runs, status.unlocked) {
        (false, _) => "does not run",
        (true, true) => "runs, unlocked",
        (true, false) => "runs, locked",
    };
    let mut text = format!("signer   {state}\n");
    // Writing to a string cannot fail.
    for user in &status.users {
        let line =
            format!("user     {} {}", peer::npub_of(&user.public_key), printable(&user.label));
        let place = match (user.on_device, runs, user.device_connected) {
            (false, ..) => "",
            (true, true, true) => "  on a device",
            (true, true, false) => "  on a device that is not connected",
            (true, false, _) => "  on a device",
        };
        let _ = writeln!(text, "{}{place}", line.trim_end());
    }
    for relay in &status.relays {
        let state = match (runs, status.connected.contains(relay), status.apps) {
            (false, ..) => "",
            (true, true, _) => "  connected",
            (true, false, 0) => "  not connected, as there is no app",
            (true, false, _) => "  not connected",
        };
        let _ = writeln!(text, "relay    {}{state}", printable(relay));
    }
    for AppRelays { relay, apps } in &status.app_relays {
        let state = match (runs, status.connected.contains(relay)) {
            (false, _) => "",
            (true, true) => "  connected",
            (true, false) => "  not connected",
        };
        let apps: Vec<_> = apps.iter().map(|it| printable(it).to_string()).collect();
        let _ = writeln!(text, "relay    {}{state}, of {}", printable(relay), apps.join(", "));
    }
    let _ = writeln!(text, "apps     {}\nwaiting  {}", status.apps, status.waiting);
    for IgnoredView { cause, count } in &status.ignored {
        let _ = writeln!(text, "ignored  {}: {count}", printable(cause));
    }
    let json = json::object([
        ("runs", runs.into()),
        ("unlocked", (runs && status.unlocked).into()),
        ("users", status.users.iter().map(user_json).collect()),
        ("relays", status.relays.into()),
        ("app_relays", status.app_relays.into_iter().map(app_relays_json).collect()),
        ("connected", status.connected.into()),
        ("apps", status.apps.into()),
        ("waiting", status.waiting.into()),
        ("ignored", status.ignored.into_iter().map(ignored_json).collect()),
    ]);
    Ok(Outcome::new(text, json))
}

fn app_relays_json(it: AppRelays) -> Value {
    json::object([("relay", it.relay.into()), ("apps", it.apps.into())])
}

fn ignored_json(ignored: IgnoredView) -> Value {
    json::object([("cause", ignored.cause.into()), ("count", ignored.count.into())])
}

fn user_json(user: &UserView) -> Value {
    json::object([
        ("public_key", user.public_key.as_str().into()),
        ("npub", peer::npub_of(&user.public_key).into()),
        ("label", user.label.as_str().into()),
        ("on_device", user.on_device.into()),
        ("device_connected", user.device_connected.into()),
    ])
}

//! `endseal demo signer`

use core::time::Duration;
use std::path::Path;

use endseal_node::demo::{Step, StepFailed, Steps};
use endseal_nostr::key::PublicKey;
use endseal_signer::client::RemoteError;
use endseal_signer::control::{Command, Reply};

use super::signer_world::{App, Serving, World, allow, text};
use super::{Folder, present};
use crate::cmd::nostr::peer::npub;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::interrupt;
use crate::printable::plural;

/// Show the Nostr remote signer: invitation, signature, refusals, revocation
///
/// A relay in memory, a signer and two apps, over sockets of this machine. The passphrase is
/// stretched as little as possible, for speed: a signer of endseal signer init takes longer.
#[derive(clap::Args, Debug)]
pub(super) struct Args {}

/// Name of the app.
const NOTES: &str = "notes";
/// Wait for an answer that must not come: others come within milliseconds.
const SHORT: Duration = Duration::from_millis(800);

pub(super) fn run(Args {}: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    interrupt::watch(ctx.global.json)?;
    let folder = Folder::create(false)?;
    present(ctx, |show| steps(&folder.path, show))
}

fn steps(folder: &Path, show: &mut dyn FnMut(&Step)) -> Vec<Step> {
    let mut steps = Steps::new(show);
    // The failed step tells.
    let _ = play(folder, &mut steps);
    steps.into_vec()
}

/// Runs the part in `folder`.
pub(super) fn play(folder: &Path, steps: &mut Steps<'_>) -> Result<(), StepFailed> {
    let mut world = None;
    steps.done("a relay starts, in memory", || {
        let world = world.insert(World::new(folder)?);
        Ok(world.url())
    })?;
    let world = world.ok_or(StepFailed)?;
    let (mut user, mut opened) = (None, None);
    steps.done("signer init and import: a store with one key", || {
        let (signer, key) = world.make()?;
        (user, opened) = (Some(key), Some(signer));
        Ok(format!("{}, Argon2id at its minimum", short(&key)))
    })?;
    let (user, signer) = (user.ok_or(StepFailed)?, opened.ok_or(StepFailed)?);
    let mut serving = None;
    steps.done("signer run: it takes commands", || {
        serving = Some(world.serve(signer)?);
        Ok("over a socket of its owner".to_owned())
    })?;
    let serving = serving.ok_or(StepFailed)?;
    answer(&world, &serving, &user, steps)?;
    steps.done("signer log --verify: the chain of hashes", || {
        match serving.ask(Command::Verify)? {
            Reply::Verified { lines, hash } => {
                let start = hash.get(..16).unwrap_or(&hash);
                Ok(format!("{}, the last one {start}...", plural(lines, "line")))
            }
            _ => Err(OTHER.to_owned()),
        }
    })?;
    steps.done("the signer stops", || serving.stop())
}

/// Reply of another kind than the command has.
const OTHER: &str = "another reply";

fn answer(
    world: &World,
    serving: &Serving,
    user: &PublicKey,
    steps: &mut Steps<'_>,
) -> Result<(), StepFailed> {
    let mut uri = None;
    steps.done("signer invite notes --allow sign:1 --count 2", || {
        let Reply::Invited { uri: Some(it), .. } = serving.ask(allow(NOTES, "sign:1", 2))? else {
            return Err(OTHER.to_owned());
        };
        let len = it.expose_secret().len();
        uri = Some(it);
        world.wait_for_signer()?;
        Ok(format!("a bunker:// URL of {len} characters"))
    })?;
    let uri = uri.ok_or(StepFailed)?;
    let mut app = None;
    steps.done("an app connects by the URL", || {
        let mut new = App::new(world, uri.expose_secret())?;
        new.connect().map_err(text)?;
        app = Some(new);
        Ok("acknowledged".to_owned())
    })?;
    let mut app = app.ok_or(StepFailed)?;
    steps.done("it has an event of kind 1 signed", || sign(&mut app, user))?;
    steps.refused("it asks for kind 4", || refusal(app.sign(4)))?;
    steps.refused("another app uses the same URL", || {
        let mut other = App::new(world, uri.expose_secret())?;
        other.set_patience(SHORT);
        match other.connect() {
            Err(RemoteError::Silent) => Ok(format!("no answer within {} ms", SHORT.as_millis())),
            Err(error) => Err(text(error)),
            Ok(()) => Err("it was let in".to_owned()),
        }
    })?;
    steps.done("the app has a second event signed", || sign(&mut app, user))?;
    steps.refused("it asks for a third", || refusal(app.sign(1)))?;
    steps.done("signer revoke notes", || {
        match serving.ask(Command::Revoke { app: NOTES.to_owned() })? {
            Reply::Done => Ok("its requests get an error".to_owned()),
            _ => Err(OTHER.to_owned()),
        }
    })?;
    steps.refused("the app asks again", || refusal(app.sign(1)))
}

/// Has an event of kind 1 signed by the user's key.
fn sign(app: &mut App<'_>, user: &PublicKey) -> Result<String, String> {
    match app.sign(1) {
        Ok(author) if author == *user => Ok(format!("signature of {} verified", short(user))),
        Ok(_) => Err("another key signed".to_owned()),
        Err(error) => Err(text(error)),
    }
}

/// The signer's words, if it refused.
fn refusal(signed: Result<PublicKey, RemoteError>) -> Result<String, String> {
    match signed {
        Err(RemoteError::Refused(words)) => Ok(format!("\"{words}\"")),
        Err(error) => Err(text(error)),
        Ok(_) => Err("it was signed".to_owned()),
    }
}

/// The first characters of a key.
fn short(key: &PublicKey) -> String {
    let npub = npub(key);
    format!("{}...", npub.get(..12).unwrap_or(&npub))
}

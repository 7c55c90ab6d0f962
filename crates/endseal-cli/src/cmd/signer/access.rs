//! Access to a signer: over the socket of a running one, or else directly in its store.

use std::path::{Path, PathBuf};

use endseal_crypto::secret::Zeroizing;
use endseal_keyring::Passphrase;
use endseal_node::{Home, HomeError};
use endseal_signer::Signer;
use endseal_signer::control::{CallError, Command, Reply, Request, call};

use super::failures;
use crate::ctx::Ctx;
use crate::failure::{Failure, Kind};
use crate::passphrase;

/// Name of the signer's folder in the state directory.
pub(super) const FOLDER: &str = "signer";
pub(super) const PROMPT: &str = "Passphrase of the signer: ";

/// Returns the path of the signer's folder. Fails if it does not exist.
pub(super) fn directory(ctx: &Ctx) -> Result<PathBuf, Failure> {
    let directory = match Home::open(&ctx.home_path()?) {
        Err(HomeError::Missing(home)) => home.join(FOLDER),
        home => home?.path().join(FOLDER),
    };
    if directory.symlink_metadata().is_ok() {
        return Ok(directory);
    }
    Err(failures::missing(&directory))
}

/// Opens the store of a signer that is not running.
pub(super) fn open(directory: &Path, ctx: &mut Ctx) -> Result<Signer, Failure> {
    ctx.detail(&format!("opening the signer in '{}'", directory.display()));
    passphrase::open(PROMPT, ctx, |passphrase| {
        with_forms(passphrase, |form| open_as(directory, form))
    })
}

/// Like [`open`], with one form of a known passphrase.
pub(super) fn open_as(directory: &Path, form: &str) -> Result<Signer, Failure> {
    Signer::open(directory, form).map_err(|error| failures::open(directory, &error))
}

/// Calls `with` with the normal form of a passphrase. If that is refused, and the text that was
/// entered differs, calls it with that.
pub(super) fn with_forms<T>(
    passphrase: &Passphrase,
    mut with: impl FnMut(&str) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut outcome = Err(unexpected());
    for form in passphrase.expose_forms() {
        outcome = with(core::str::from_utf8(form).unwrap_or_default());
        if !outcome.as_ref().is_err_and(|failure| failure.kind == Kind::Refused) {
            break;
        }
    }
    outcome
}

/// Access to a running signer, or to the store of one that is not running. The store is opened when
/// it is first needed.
pub(super) struct Source {
    directory: PathBuf,
    opened: Option<Signer>,
}

impl Source {
    pub(super) fn find(ctx: &Ctx) -> Result<Self, Failure> {
        Ok(Self { directory: directory(ctx)?, opened: None })
    }

    /// Returns true if the last reply came from a running signer.
    pub(super) fn runs(&self) -> bool {
        self.opened.is_none()
    }

    /// Returns true if the signer is not running and its passphrase must be typed.
    pub(super) fn would_ask(&self, ctx: &mut Ctx) -> Result<bool, Failure> {
        Ok(!is_running(&self.directory) && !passphrase::is_given(ctx)?)
    }

    /// Runs a command and returns the reply.
    pub(super) fn ask(&mut self, command: Command, ctx: &mut Ctx) -> Result<Reply, Failure> {
        let request = request(command);
        let signer = match &mut self.opened {
            Some(signer) => signer,
            opened => match call(&self.directory, &request) {
                Err(CallError::NotRunning) => opened.insert(open(&self.directory, ctx)?),
                reply => return Ok(reply?),
            },
        };
        Ok(signer.command(ctx.now / 1000, request)?)
    }
}

/// Returns true if a signer is running with this folder, even if it does not reply.
pub(super) fn is_running(directory: &Path) -> bool {
    !matches!(call(directory, &request(Command::Status)), Err(CallError::NotRunning))
}

/// Returns the normal form of a passphrase as text.
pub(super) fn text(passphrase: &Passphrase) -> &str {
    core::str::from_utf8(passphrase.expose_secret()).unwrap_or_default()
}

/// Runs a command in the running signer, or else in the store.
pub(super) fn ask(command: Command, ctx: &mut Ctx) -> Result<Reply, Failure> {
    Source::find(ctx)?.ask(command, ctx)
}

/// Runs a command in the running signer. Fails if it is not running.
pub(super) fn ask_running(command: Command, ctx: &Ctx) -> Result<Reply, Failure> {
    Ok(call(&directory(ctx)?, &request(command))?)
}

fn request(command: Command) -> Request {
    Request { command, secret: Zeroizing::new(Vec::new()) }
}

/// Makes the failure for a reply that does not belong to the command.
pub(super) fn unexpected() -> Failure {
    Failure::new(Kind::Environment, "the running signer has another version")
        .hint("stop it, and start it again with: endseal signer run")
}

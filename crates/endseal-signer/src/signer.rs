//! A signer that is opened in this process, to run it or to execute single commands.

use alloc::sync::Arc;
use std::path::Path;

use endseal_crypto::random::OsRandom;
use endseal_crypto::secret::Zeroizing;
use endseal_service::stop_signal;
use endseal_store::{KdfParams, OpenOptions};

use crate::control::{Command, CommandError, Reply, Request};
use crate::engine::{self, Engine};
use crate::error::{ChangePassphraseError, CreateSignerError, OpenSignerError};
use crate::metrics::Metrics;
use crate::options::{Listening, Options};
use crate::service::{self, RunError};
use crate::signer_store::SignerStore;

/// Open signer. No other process can open it at the same time.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct Signer {
    engine: Engine,
    metrics: Arc<Metrics>,
    passphrase: Zeroizing<String>,
}

impl Signer {
    /// Creates a signer in a new or empty directory. `params` sets the cost of guessing the
    /// passphrase.
    ///
    /// # Errors
    /// [`CreateSignerError`] if the directory is not empty or cannot be written.
    pub fn init(
        directory: &Path,
        passphrase: &str,
        params: KdfParams,
    ) -> Result<Self, CreateSignerError> {
        let store = SignerStore::create(directory, passphrase, params, &mut OsRandom)?;
        Ok(Self::new(directory, store, passphrase))
    }

    /// Opens the signer in a directory.
    ///
    /// # Errors
    /// [`OpenSignerError`] if the passphrase is wrong, the store is in use, or it is damaged.
    pub fn open(directory: &Path, passphrase: &str) -> Result<Self, OpenSignerError> {
        let store = SignerStore::open(directory, passphrase, OpenOptions::new())?;
        Ok(Self::new(directory, store, passphrase))
    }

    fn new(directory: &Path, store: SignerStore, passphrase: &str) -> Self {
        let metrics = Arc::new(Metrics::default());
        let engine = Engine::new(directory.to_owned(), store, Arc::clone(&metrics));
        Self { engine, metrics, passphrase: Zeroizing::new(passphrase.to_owned()) }
    }

    /// Changes the passphrase of a signer that is not running. `params` sets the cost of guessing
    /// the new one.
    ///
    /// # Errors
    /// [`ChangePassphraseError`]. After a failure the signer opens with the passphrase that was in
    /// force when its key file was last written.
    pub fn change_passphrase(
        &mut self,
        new: &str,
        params: KdfParams,
    ) -> Result<(), ChangePassphraseError> {
        self.engine.change_passphrase(&self.passphrase, new, params)?;
        self.passphrase = Zeroizing::new(new.to_owned());
        Ok(())
    }

    /// Executes a command while the signer is not running. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// [`CommandError::NotRunning`] for commands that need a running signer; otherwise the error of
    /// the command.
    pub fn command(&mut self, now: u64, request: Request) -> Result<Reply, CommandError> {
        let needs_service = matches!(
            request.command,
            Command::Waiting { .. }
                | Command::Approve { .. }
                | Command::Deny { .. }
                | Command::Lock
                | Command::Unlock
                | Command::SignIn
                | Command::SignOut
                | Command::Connect { .. }
        );
        if needs_service {
            return Err(CommandError::NotRunning);
        }
        self.engine.command(now, request).0
    }

    /// Checks relay URLs like [`set_relays`](Self::set_relays), without storing them.
    ///
    /// # Errors
    /// [`CommandError::Invalid`] for a malformed URL, [`CommandError::Limit`] for more than 8.
    pub fn check_relays(relays: &[String]) -> Result<(), CommandError> {
        engine::check_relays(relays)
    }

    /// Refuses requests of clients that encrypt with NIP-04, by an error that they can read. `now`
    /// is in seconds since 1970.
    ///
    /// # Errors
    /// [`CommandError::Store`] if the setting cannot be written.
    pub fn refuse_nip04(&mut self, now: u64) -> Result<(), CommandError> {
        self.engine.refuse_nip04(now)
    }

    /// Stores the relays of the signer and of new apps. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// [`CommandError`] if a URL is malformed, there are more than 8, or the store fails.
    pub fn set_relays(&mut self, now: u64, relays: &[String]) -> Result<(), CommandError> {
        self.engine.set_relays(now, relays)
    }

    /// Returns all metrics in Prometheus' text format, as `/metrics` does.
    #[must_use]
    pub fn metrics_text(&self) -> String {
        self.metrics.text()
    }

    /// Unlocks the signer and serves until SIGINT or SIGTERM. `started` is called once a relay is
    /// connected, at once if there is no app, or after ten seconds; if it returns false, the signer
    /// stops. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// [`RunError`] if the signer cannot start, or if it stops by itself.
    pub fn run(
        self,
        now: u64,
        options: &Options,
        started: &mut dyn FnMut(Listening) -> bool,
    ) -> Result<(), RunError> {
        let stop = || stop_signal().map_err(RunError::System);
        self.serve_until(now, options, started, stop)
    }

    /// Serves like [`run`](Self::run), but until `stop` completes. Signal handlers are not changed.
    ///
    /// # Errors
    /// [`RunError`] if the signer cannot start, or if it stops by itself.
    pub fn serve(
        self,
        now: u64,
        options: &Options,
        started: &mut dyn FnMut(Listening) -> bool,
        stop: impl Future<Output = ()>,
    ) -> Result<(), RunError> {
        self.serve_until(now, options, started, || Ok(stop))
    }

    fn serve_until<S: Future<Output = ()>>(
        self,
        now: u64,
        options: &Options,
        started: &mut dyn FnMut(Listening) -> bool,
        stop: impl FnOnce() -> Result<S, RunError>,
    ) -> Result<(), RunError> {
        let Self { mut engine, metrics, passphrase } = self;
        engine.set_unwrap_batch(options.unwrap_batch);
        if !options.relays.is_empty() {
            engine.set_relays(now, &options.relays).map_err(RunError::Relays)?;
        }
        if engine.relays().is_empty() {
            return Err(RunError::Relays(CommandError::NoRelays));
        }
        engine.open_keys(now, &passphrase).map_err(RunError::Keys)?;
        drop(passphrase);
        service::run(engine, metrics, options, started, stop)
    }
}

//! A signer: made, opened, asked, and served.

use alloc::sync::Arc;
use std::path::Path;

use endseal_crypto::random::OsRandom;
use endseal_crypto::secret::Zeroizing;
use endseal_service::stop_signal;
use endseal_store::{KdfParams, OpenOptions};

use crate::control::{Command, CommandError, Reply, Request};
use crate::engine::{self, Engine};
use crate::error::{CreateSignerError, OpenSignerError};
use crate::metrics::Metrics;
use crate::options::{Listening, Options};
use crate::service::{self, RunError};
use crate::signer_store::SignerStore;

/// An open signer. No other process has it at the same time.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct Signer {
    engine: Engine,
    metrics: Arc<Metrics>,
    passphrase: Zeroizing<String>,
}

impl Signer {
    /// Makes a signer in a new directory, or an empty one. `params` is the cost of a guess of the
    /// passphrase.
    ///
    /// # Errors
    /// [`CreateSignerError`].
    pub fn init(
        directory: &Path,
        passphrase: &str,
        params: KdfParams,
    ) -> Result<Self, CreateSignerError> {
        let store = SignerStore::create(directory, passphrase, params, &mut OsRandom)?;
        Ok(Self::new(directory, store, passphrase))
    }

    /// Opens the signer of a directory.
    ///
    /// # Errors
    /// [`OpenSignerError`].
    pub fn open(directory: &Path, passphrase: &str) -> Result<Self, OpenSignerError> {
        let store = SignerStore::open(directory, passphrase, OpenOptions::new())?;
        Ok(Self::new(directory, store, passphrase))
    }

    fn new(directory: &Path, store: SignerStore, passphrase: &str) -> Self {
        let metrics = Arc::new(Metrics::default());
        let engine = Engine::new(directory.to_owned(), store, Arc::clone(&metrics));
        Self { engine, metrics, passphrase: Zeroizing::new(passphrase.to_owned()) }
    }

    /// Executes a command while no signer serves. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// [`CommandError::NotRunning`] for commands that need one that serves.
    pub fn command(&mut self, now: u64, request: Request) -> Result<Reply, CommandError> {
        let needs_service = matches!(
            request.command,
            Command::Waiting
                | Command::Approve { .. }
                | Command::Deny { .. }
                | Command::Lock
                | Command::Unlock
                | Command::SignIn
                | Command::Connect { .. }
        );
        if needs_service {
            return Err(CommandError::NotRunning);
        }
        self.engine.command(now, request).0
    }

    /// Checks URLs of relays as [`set_relays`](Self::set_relays) does.
    ///
    /// # Errors
    /// [`CommandError::Invalid`], [`CommandError::Limit`].
    pub fn check_relays(relays: &[String]) -> Result<(), CommandError> {
        engine::check_relays(relays)
    }

    /// Sets the relays of new apps.
    ///
    /// # Errors
    /// [`CommandError`].
    pub fn set_relays(&mut self, now: u64, relays: &[String]) -> Result<(), CommandError> {
        self.engine.set_relays(now, relays)
    }

    /// All counters in Prometheus' text format, as `/metrics` has them.
    #[must_use]
    pub fn metrics_text(&self) -> String {
        self.metrics.text()
    }

    /// Serves until SIGINT or SIGTERM, unlocked. `begun` is called once a relay is connected, at
    /// once if there is no app, or after ten seconds; it says whether it goes on. `now` is in
    /// seconds since 1970.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn run(
        self,
        now: u64,
        options: &Options,
        begun: &mut dyn FnMut(Listening) -> bool,
    ) -> Result<(), RunError> {
        let stop = || stop_signal().map_err(RunError::System);
        self.serve_until(now, options, begun, stop)
    }

    /// As [`run`](Self::run), until `stop` completes; signals do what they did before.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn serve(
        self,
        now: u64,
        options: &Options,
        begun: &mut dyn FnMut(Listening) -> bool,
        stop: impl Future<Output = ()>,
    ) -> Result<(), RunError> {
        self.serve_until(now, options, begun, || Ok(stop))
    }

    fn serve_until<S: Future<Output = ()>>(
        self,
        now: u64,
        options: &Options,
        begun: &mut dyn FnMut(Listening) -> bool,
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
        service::run(engine, metrics, options, begun, stop)
    }
}

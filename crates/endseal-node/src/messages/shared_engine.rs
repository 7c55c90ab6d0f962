//! An engine that receiving, sending and local requests use by turns.

use std::sync::{Mutex, PoisonError};

use endseal_keyring::device::Address;
use endseal_session::{Engine, EngineError};
use tokio::sync::watch;

use super::records::Transaction;

/// An engine that several tasks use, each for one piece of work at a time, none of which waits for
/// the network. Between two of them the store and the states in memory are whole, so that a task
/// may be dropped wherever it waits.
#[allow(missing_debug_implementations, reason = "it holds secrets")]
pub(crate) struct SharedEngine<'e> {
    engine: Mutex<&'e mut Engine>,
    arrivals: watch::Sender<()>,
}

impl<'e> SharedEngine<'e> {
    pub(crate) fn new(engine: &'e mut Engine) -> Self {
        Self { engine: Mutex::new(engine), arrivals: watch::Sender::new(()) }
    }

    /// Works with the engine. `work` MUST NOT use this.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Engine) -> T) -> T {
        // After a panic the engine has dropped its states, and reads them again.
        work(&mut self.engine.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn transaction<T, E: From<EngineError>>(
        &self,
        work: impl FnOnce(&mut Transaction<'_, '_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.with(|engine| engine.transaction(work))
    }

    pub(super) fn address(&self) -> Address {
        self.with(|engine| engine.address())
    }

    /// Changes whenever messages may have arrived in the inbox.
    pub(crate) fn arrivals(&self) -> watch::Receiver<()> {
        self.arrivals.subscribe()
    }

    pub(super) fn note_arrivals(&self) {
        self.arrivals.send_replace(());
    }
}

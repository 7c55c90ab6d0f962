//! An engine that is shared by receiving, sending and local requests.

use std::sync::{Mutex, PoisonError};

use endseal_keyring::device::Address;
use endseal_session::{Engine, EngineError};
use tokio::sync::watch;

use super::records::Transaction;

/// An engine that several tasks share. Each uses it for one piece of work at a time, which never
/// waits for the network. Between two pieces the store and the states in memory are consistent, so
/// that a task may be dropped wherever it waits.
#[allow(missing_debug_implementations, reason = "it holds secrets")]
pub(crate) struct SharedEngine<'e> {
    engine: Mutex<&'e mut Engine>,
    arrivals: watch::Sender<()>,
}

impl<'e> SharedEngine<'e> {
    pub(crate) fn new(engine: &'e mut Engine) -> Self {
        Self { engine: Mutex::new(engine), arrivals: watch::Sender::new(()) }
    }

    /// Runs `work` with exclusive access to the engine. `work` MUST NOT use this object, or it
    /// blocks forever.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Engine) -> T) -> T {
        // After a panic the engine has dropped its cached states, and reads them again.
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

    /// Returns a receiver that is notified when messages may have arrived in the inbox.
    pub(crate) fn arrivals(&self) -> watch::Receiver<()> {
        self.arrivals.subscribe()
    }

    /// Notifies the receivers of [`Self::arrivals`].
    pub(crate) fn note_arrivals(&self) {
        self.arrivals.send_replace(());
    }
}

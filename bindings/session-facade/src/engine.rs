//! An engine over its store.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::{OsRandom, Random};
use endseal_facade::Identity;
use endseal_keyring::device::DeviceId;
use endseal_session as session;
use endseal_session::olm::OlmAccount;
use endseal_store::{CreateStoreError, OpenOptions, Store};

use crate::address::DeviceAddress;
use crate::error::SessionError;
use crate::messages::{InboxMessage, IncomingMessage, OutboxMessage};
use crate::outcome::{BatchResult, Envelopes, ReleasedMessage};
use crate::store_secret::StoreSecret;
use crate::transaction::{OpenTransaction, Transaction};
use crate::worker::Worker;

type OlmEngine = session::Engine<OlmAccount>;

/// Sessions and groups of one device over its encrypted store. Calls run one after the other, and
/// wait while a transaction is open.
#[allow(missing_debug_implementations, reason = "it holds secrets")]
pub struct Engine {
    worker: Worker,
    open_transaction: Arc<OpenTransaction>,
    address: DeviceAddress,
}

/// Options of [`Engine::decrypt_batch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "libraries of other languages mirror it")]
pub struct BatchOptions {
    /// Number of messages in one transaction; 0 puts all of them into one.
    pub messages_per_commit: u32,
    /// Number of threads that decrypt, over which conversations are spread; 0 counts as 1.
    pub threads: u32,
}

impl Engine {
    /// Makes a store with a device in a new directory, or an empty one, and opens it. A store that
    /// was made without its device, because the process died, gets it.
    ///
    /// # Errors
    /// [`SessionError::Store`] with the code `exists` if there is anything else in the directory.
    pub fn create(
        directory: &Path,
        secret: &StoreSecret,
        identity: &Identity,
        device: u32,
    ) -> Result<Self, SessionError> {
        let device = DeviceId::new(device);
        let device = device.ok_or_else(|| SessionError::argument("devices are numbered from 1"))?;
        let random = &mut OsRandom;
        let store = match Store::create(directory, secret.protection(), random) {
            Ok(store) => store,
            Err(CreateStoreError::Exists) => {
                let exists = || SessionError::from(CreateStoreError::Exists);
                let opened = Store::open(directory, secret.unlock(), OpenOptions::new());
                let mut store = opened.map_err(|_| exists())?;
                if OlmEngine::is_in(&mut store)? {
                    return Err(exists());
                }
                store
            }
            Err(error) => return Err(error.into()),
        };
        // The device is in no network of endseal, where a peer id names its TLS key.
        let mut peer_id = [0; PeerId::LEN];
        random.fill(&mut peer_id).map_err(|_| session::EngineError::Random)?;
        let new = session::NewDevice {
            identity: identity.keys().signing(),
            device,
            peer_id: PeerId::from_bytes(&peer_id),
            now: milliseconds(now()),
        };
        Self::start(OlmEngine::create(store, new, random)?)
    }

    /// Opens the store of a directory and its device. Sessions whose end has come are deleted.
    ///
    /// # Errors
    /// [`SessionError::Store`]: `authentication` if the secret is wrong, `locked` if the store is
    /// open already, `missing` if there is none, `no-device` if it has no device yet.
    pub fn open(directory: &Path, secret: &StoreSecret) -> Result<Self, SessionError> {
        let store = Store::open(directory, secret.unlock(), OpenOptions::new())?;
        let mut engine = OlmEngine::open(store)?;
        engine.expire(milliseconds(now()))?;
        Self::start(engine)
    }

    fn start(engine: OlmEngine) -> Result<Self, SessionError> {
        let address = DeviceAddress::of(engine.address());
        let worker = Worker::start(engine)?;
        Ok(Self { worker, open_transaction: Arc::default(), address })
    }

    /// Returns the address of this device.
    #[must_use]
    pub fn address(&self) -> DeviceAddress {
        self.address.clone()
    }

    /// Decrypts a backlog. Every message has its own result; a bad one does not affect others. When
    /// the call returns, all results that are not `Failed` are in the store.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store fails. Transactions before the failure stay committed;
    /// all messages can be delivered again.
    pub fn decrypt_batch(
        &self,
        messages: Vec<IncomingMessage>,
        options: BatchOptions,
    ) -> Result<BatchResult, SessionError> {
        self.worker.run(move |engine| {
            let envelopes = Envelopes::of(&messages);
            let mut how = session::BatchOptions::whole().threads(length(options.threads));
            if options.messages_per_commit > 0 {
                how = how.max_messages(length(options.messages_per_commit));
            }
            let report = engine.decrypt_batch(&envelopes.valid, &how)?;
            Ok(BatchResult {
                outcomes: envelopes.outcomes(report.outcomes),
                released: ReleasedMessage::all(report.released),
                commits: report.commits,
            })
        })
    }

    /// Begins a transaction, after those before it have ended. Dropping it rolls it back.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store fails.
    pub fn begin(&self) -> Result<Transaction, SessionError> {
        Transaction::begin(&self.worker, &self.open_transaction)
    }

    /// Returns up to `limit` messages of the inbox with numbers above `after`, in ascending order.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store cannot be read.
    pub fn inbox(&self, after: u64, limit: u32) -> Result<Vec<InboxMessage>, SessionError> {
        self.worker.run(move |engine| {
            let page = engine.inbox().page(after, length(limit))?;
            Ok(page.into_iter().map(InboxMessage::of).collect())
        })
    }

    /// Deletes messages of the inbox in one transaction. Returns how many were there.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store fails; all messages are still there then.
    pub fn consume(&self, numbers: Vec<u64>) -> Result<u32, SessionError> {
        self.worker.run(move |engine| Ok(count(engine.inbox().consume_many(&numbers)?)))
    }

    /// Returns up to `limit` ciphertexts that may be sent, with numbers above `after`, in ascending
    /// order.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store cannot be read.
    pub fn outbox(&self, after: u64, limit: u32) -> Result<Vec<OutboxMessage>, SessionError> {
        self.worker.run(move |engine| {
            let pending = engine.outbox().pending(after, length(limit))?;
            Ok(pending.into_iter().map(OutboxMessage::of).collect())
        })
    }

    /// Deletes ciphertexts that have arrived, in one transaction. Returns how many were there.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store fails; all ciphertexts are still there then.
    pub fn sent(&self, numbers: Vec<u64>) -> Result<u32, SessionError> {
        self.worker.run(move |engine| Ok(count(engine.outbox().sent_many(&numbers)?)))
    }

    /// Deletes sessions whose end has come. The caller MUST call it once a day while the engine is
    /// open. Returns their number.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store fails.
    pub fn expire(&self) -> Result<u32, SessionError> {
        self.worker.run(|engine| Ok(count(engine.expire(milliseconds(now()))?)))
    }

    /// Removes replaced states from the files of the store. Call it when the device is idle.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store fails.
    pub fn settle(&self) -> Result<(), SessionError> {
        self.worker.run(|engine| Ok(engine.settle()?))
    }

    /// Rolls an open transaction back and closes the store. Later calls have the code `closed`; a
    /// second call does nothing.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store fails; what was committed stays.
    pub fn close(&self) -> Result<(), SessionError> {
        self.open_transaction.close();
        self.worker.close()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Its error has no one to go to.
        let _ = self.close();
    }
}

/// Time since 1970.
pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn length(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

pub(crate) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

//! Engine: sessions and groups over a store, one transaction at a time.

mod accept_context;
mod batch;
mod body_digest;
mod changeset;
mod commit_budget;
mod conversation;
mod conversation_state;
mod correspondent;
mod delivery_kind;
mod device;
mod dropped_session;
mod inbox;
mod local_store;
mod notice;
mod order;
mod outbox;
mod outgoing_message;
mod parking_budget;
mod parking_reason;
mod pipeline;
mod prepared;
mod progress;
mod prune;
mod records;
mod references;
mod seal;
mod store_access;
mod store_request;
mod store_session;
mod task;
mod transaction;
mod watch;
mod worker_pool;

use core::ops::ControlFlow;

use endseal_crypto::ed25519::SigningKey;
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::Random;
use endseal_keyring::device::{Address, Certificate, DeviceId, DeviceKeys};
use endseal_store::{ReadTransaction, Store};

use accept_context::Own;
use batch::{Batch, StateCache};
use device::Device;
use local_store::LocalStore;
use order::Order;
use parking_budget::ParkingBudget;
use parking_reason::Reason;
use progress::Progress;
use prune::Walk;
use references::References;
use watch::{Watch, Watcher};

pub use accept_context::UnknownSenders;
pub use correspondent::Correspondent;
pub use inbox::{ConversationId, Inbox, Received, ReceivedKind};
pub use notice::Notice;
pub use outbox::{Outbox, Outgoing, Pending};
pub use outgoing_message::OutgoingKind;
pub use prepared::PreparedKeys;
pub use prune::{PrunePolicy, Pruned};
pub use transaction::{EngineTransaction, GroupSummary, JoinedGroup, ParkedMessage, SentToAll};
pub use watch::{BetweenCommits, ChunkReport};

use crate::group::{GroupDevice, GroupKey};
use crate::olm::OlmAccount;
use crate::{
    BatchError, BatchOptions, BatchReport, Durability, EngineError, Envelope, PairwiseAccount,
    SendError,
};

/// Sessions and groups of one device over its store.
///
/// Changes stay in memory until the transaction of the call is committed. If anything fails, the
/// state in memory is dropped and read again from the store, so that the same messages can be
/// delivered again.
#[allow(missing_debug_implementations, reason = "it holds secrets")]
pub struct Engine<A: PairwiseAccount = OlmAccount> {
    store: Store,
    references: References,
    device: Device,
    /// `None` after a failure; it is loaded from the store when it is needed next.
    state_cache: Option<StateCache<A>>,
    unknown_senders: UnknownSenders,
    pruning: Walk,
}

/// Number and size of the parked messages of one conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParkedTotal {
    /// Conversation to which the messages belong.
    pub conversation: ConversationId,
    /// Number of parked messages.
    pub messages: u64,
    /// Sum of their lengths in bytes.
    pub bytes: u64,
}

/// Input for the certificate of a new device.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "it refers to a secret")]
#[allow(clippy::exhaustive_structs, reason = "all that a certificate needs")]
pub struct NewDevice<'a> {
    /// Identity key, which signs the certificate and is not stored.
    pub identity: &'a SigningKey,
    /// Number of the device within its identity.
    pub device: DeviceId,
    /// Peer id of the device on the network.
    pub peer_id: PeerId,
    /// Current time, in milliseconds since 1970.
    pub now: u64,
}

impl<A: PairwiseAccount> Engine<A> {
    /// Makes a new device in a store that holds none, and opens the engine.
    ///
    /// # Errors
    /// [`EngineError::DeviceExists`] if the store holds a device, which is not changed;
    /// [`EngineError`] if the store or the random source fails.
    pub fn create(
        mut store: Store,
        new: NewDevice<'_>,
        random: &mut impl Random,
    ) -> Result<Self, EngineError> {
        let (account, groups) = Self::make_device(&new, random)?;
        let restorations = store.restorations();
        let transaction = store.begin()?;
        if transaction.record(records::DEVICE, &[])?.is_some() {
            return Err(EngineError::DeviceExists);
        }
        records::put_device(&transaction, &groups, &account.save(), restorations)?;
        transaction.commit()?;
        Self::open(store)
    }

    /// Gives the device new keys and a new number. Messages and records stay; sessions, groups and
    /// ciphertexts are removed, and the device may send again if the store was restored.
    ///
    /// # Errors
    /// [`EngineError`]; the store is as it was, and may be opened again.
    pub fn renew(self, new: NewDevice<'_>, random: &mut impl Random) -> Result<Self, EngineError> {
        let (account, groups) = Self::make_device(&new, random)?;
        let mut store = self.store;
        if store.is_uncertain() {
            store.reopen().map_err(EngineError::Reopen)?;
        }
        let restorations = store.restorations();
        let transaction = store.begin()?;
        transaction.remove_device_state()?;
        records::remove_of_device(&transaction)?;
        records::put_device(&transaction, &groups, &account.save(), restorations)?;
        transaction.commit()?;
        Self::open(store)
    }

    /// Makes the keys of a device, and its certificate.
    fn make_device(
        new: &NewDevice<'_>,
        random: &mut impl Random,
    ) -> Result<(A, GroupDevice), EngineError> {
        let account = A::generate();
        let group_key = GroupKey::generate(random).map_err(|_| EngineError::Random)?;
        let keys = account.keys();
        let keys = DeviceKeys {
            device: new.device,
            peer_id: new.peer_id,
            agreement: keys.agreement,
            signing: keys.signing,
            group: *group_key.public_key(),
        };
        let certificate = Certificate::issue(new.identity, &keys, new.now);
        let groups = GroupDevice::new(certificate, group_key)
            .map_err(|_| EngineError::Damaged("certificate"))?;
        Ok((account, groups))
    }

    /// Returns true if the store holds a device.
    ///
    /// # Errors
    /// [`EngineError`] if the store cannot be read.
    pub fn is_in(store: &mut Store) -> Result<bool, EngineError> {
        Ok(store.read()?.record(records::DEVICE, &[])?.is_some())
    }

    /// Opens the engine of a store that holds a device. If the store was restored from a backup
    /// since it was opened last, its prekeys and key packages are deleted; see
    /// [`Self::prekeys_lost`].
    ///
    /// # Errors
    /// [`EngineError::NoDevice`] if the store holds none, [`EngineError::Damaged`] if its device or
    /// account cannot be decoded, [`EngineError::Store`] if it cannot be read.
    pub fn open(mut store: Store) -> Result<Self, EngineError> {
        let restorations = store.restorations();
        let noted = records::Prekeys::of(&store.read()?)?;
        if noted.is_none_or(|it| it.restorations != restorations) {
            Self::drop_prekeys(&mut store, restorations)?;
        }
        let transaction = store.read()?;
        let unknown_senders = match transaction.record(records::UNKNOWN_SENDERS_REFUSED, &[])? {
            Some(_) => UnknownSenders::Refused,
            None => UnknownSenders::Accepted,
        };
        let device = Device::load(&transaction)?;
        let state_cache = Some(Self::load_memory(&transaction, &device, unknown_senders)?);
        drop(transaction);
        let (references, pruning) = (References::default(), Walk::default());
        Ok(Self { store, references, device, state_cache, unknown_senders, pruning })
    }

    /// Deletes prekeys and key packages that messages may have used after the backup was made.
    fn drop_prekeys(store: &mut Store, restorations: u64) -> Result<(), EngineError> {
        let transaction = store.begin()?;
        let mut account = Self::load_account(&transaction)?;
        account.drop_prekeys();
        transaction.put_record(records::ACCOUNT, &[], &account.save())?;
        for (id, _) in transaction.records(records::KEY_PACKAGE)? {
            transaction.remove_record(records::KEY_PACKAGE, &id)?;
        }
        records::Prekeys { restorations, lost: true }.put(&transaction)?;
        Ok(transaction.commit()?)
    }

    fn load_account(transaction: &ReadTransaction<'_>) -> Result<A, EngineError> {
        let state = transaction.record(records::ACCOUNT, &[])?.ok_or(EngineError::NoDevice)?;
        A::load(&state).map_err(|_| EngineError::Damaged("account"))
    }

    /// Marks the store as restored ([`Store::mark_restored`]): the delivery service knows a later
    /// state of this device. Sessions only receive from now on, and one-time keys are deleted.
    ///
    /// # Errors
    /// [`EngineError`]; it may be called again.
    pub fn mark_restored(&mut self) -> Result<(), EngineError> {
        self.ready()?;
        self.state_cache = None;
        self.references = References::default();
        self.store.mark_restored()?;
        let restorations = self.store.restorations();
        Self::drop_prekeys(&mut self.store, restorations)
    }

    /// Returns true if the store was restored after this device was made: numbers and keys that
    /// come next may have been used, so that the device must not send.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn is_restored(&mut self) -> Result<bool, EngineError> {
        let restorations = self.store.restorations();
        let made = self.reading()?.record(records::RESTORATIONS, &[])?;
        let made = made.map(|value| value.as_slice().try_into().map(u64::from_le_bytes));
        let made = made.transpose().map_err(|_| EngineError::Damaged("restorations"))?;
        Ok(restorations > made.unwrap_or_default())
    }

    /// Returns true if the store was restored and no bundle was
    /// [published](EngineTransaction::published) since. Bundles and key packages that were handed
    /// out before cannot be used any more: the caller MUST replace them in every directory.
    ///
    /// # Errors
    /// [`EngineError`] if the store cannot be read.
    pub fn prekeys_lost(&mut self) -> Result<bool, EngineError> {
        Ok(records::Prekeys::of(&self.reading()?)?.is_some_and(|it| it.lost))
    }

    /// Returns a cache of states that contains no conversation yet.
    fn load_memory(
        transaction: &ReadTransaction<'_>,
        device: &Device,
        unknown_senders: UnknownSenders,
    ) -> Result<StateCache<A>, EngineError> {
        let account = Self::load_account(transaction)?;
        let len = |number| usize::try_from(number).unwrap_or(usize::MAX);
        let totals = transaction.parked_totals()?.into_iter().map(|total| {
            let pool = Reason::from_number(total.reason).pool();
            (pool, len(total.messages), len(total.bytes))
        });
        let budget = ParkingBudget::new(totals);
        let own = Own::of(&device.certificate);
        Ok(StateCache::new(account, unknown_senders, own, budget, device.recognizer.clone()))
    }

    /// Accepts or refuses new sessions of unknown senders. The setting is kept in the store; a new
    /// store accepts them.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails; the setting is unchanged then.
    pub fn set_unknown_senders(
        &mut self,
        unknown_senders: UnknownSenders,
    ) -> Result<(), EngineError> {
        self.ready()?;
        let transaction = self.store.begin()?;
        match unknown_senders {
            UnknownSenders::Refused => {
                transaction.put_record(records::UNKNOWN_SENDERS_REFUSED, &[], &[])?
            }
            UnknownSenders::Accepted => {
                transaction.remove_record(records::UNKNOWN_SENDERS_REFUSED, &[])?;
            }
        }
        transaction.commit()?;
        self.unknown_senders = unknown_senders;
        if let Some(state_cache) = &mut self.state_cache {
            state_cache.unknown_senders = unknown_senders;
            state_cache
                .conversation_states
                .values_mut()
                .for_each(|(_, dedup)| dedup.parking.set_due());
        }
        Ok(())
    }

    /// Returns the policy for new sessions of unknown senders.
    #[must_use]
    pub fn unknown_senders(&self) -> UnknownSenders {
        self.unknown_senders
    }

    /// Returns the address of this device.
    #[must_use]
    pub fn address(&self) -> Address {
        self.device.certificate.address()
    }

    /// Returns the certificate of this device.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.device.certificate
    }

    /// Returns the store, for tasks outside the engine: checks, backups, statistics.
    ///
    /// A caller that writes to it MUST drop the engine first, because the engine keeps states in
    /// memory.
    pub fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Closes the engine and returns its store.
    #[must_use]
    pub fn into_store(self) -> Store {
        self.store
    }

    /// Moves the log into the database and truncates it, so that replaced states are in no file any
    /// more. Call it when the device is idle, after delivered messages were acknowledged.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails.
    pub fn settle(&mut self) -> Result<(), EngineError> {
        self.ready()?;
        Ok(self.store.checkpoint()?)
    }

    /// Returns the inbox: decrypted messages that the application has not consumed.
    pub fn inbox(&mut self) -> Inbox<'_, A> {
        Inbox::new(self)
    }

    /// Returns all known devices, sorted by address.
    ///
    /// # Errors
    /// [`EngineError`] if the store cannot be read or a row is damaged.
    pub fn correspondents(&mut self) -> Result<Vec<Correspondent>, EngineError> {
        correspondent::all(&self.reading()?)
    }

    /// Returns the ids of all groups, in ascending order.
    ///
    /// # Errors
    /// [`EngineError`] if the store cannot be read.
    pub fn groups(&mut self) -> Result<Vec<Vec<u8>>, EngineError> {
        Ok(self.reading()?.groups()?)
    }

    /// Returns the state of a group; `None` if this device does not know it.
    ///
    /// # Errors
    /// [`EngineError::Damaged`] if the group's state cannot be decoded, or another [`EngineError`]
    /// if the store fails.
    pub fn group(&mut self, id: &[u8]) -> Result<Option<GroupSummary>, EngineError> {
        self.transaction(|transaction| transaction.group(id))
    }

    /// Deletes old rows according to `policy`, a bounded number at a time. Call it again while
    /// [`Pruned::more`] is true, and regularly otherwise, because each run records the age of
    /// message numbers.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails; nothing was deleted then.
    pub fn prune(&mut self, policy: &PrunePolicy) -> Result<Pruned, EngineError> {
        let mut walk = self.pruning.clone();
        let pruned = self.transaction(|transaction| transaction.prune(policy, &mut walk))?;
        self.pruning = walk;
        Ok(pruned)
    }

    /// Returns the conversations that have parked messages, with their totals.
    ///
    /// # Errors
    /// [`EngineError`] if the store cannot be read or a row is damaged.
    pub fn parked(&mut self) -> Result<Vec<ParkedTotal>, EngineError> {
        let transaction = self.reading()?;
        let mut totals: Vec<ParkedTotal> = Vec::new();
        // The store has one total for each reason; those of one conversation follow each other.
        let mut last = None;
        for part in transaction.parked_totals()? {
            match totals.last_mut().filter(|_| last == Some(part.conversation)) {
                Some(total) => {
                    total.messages += part.messages;
                    total.bytes += part.bytes;
                }
                None => {
                    let name = transaction.conversation_name(part.conversation)?;
                    let conversation = inbox::conversation_id(&name)?;
                    let (messages, bytes) = (part.messages, part.bytes);
                    totals.push(ParkedTotal { conversation, messages, bytes });
                }
            }
            last = Some(part.conversation);
        }
        Ok(totals)
    }

    /// Returns the outbox: ciphertexts that the application has not sent.
    pub fn outbox(&mut self) -> Outbox<'_, A> {
        Outbox::new(self)
    }

    /// Decrypts a backlog of messages. Every message gets its own result, and a bad message does
    /// not affect others. When the call returns, all results that the report counts as kept are in
    /// the store and may be acknowledged.
    ///
    /// Messages are opened in their order within each conversation. Those of one ratchet chain are
    /// opened in the order of their numbers.
    ///
    /// # Errors
    /// [`BatchError`] if the store fails. It reports what was committed before; the other messages
    /// are in the state before the call and can be delivered again.
    pub fn decrypt_batch(
        &mut self,
        envelopes: &[Envelope<'_>],
        options: &BatchOptions,
    ) -> Result<BatchReport, BatchError> {
        self.drain(envelopes, options, None)
    }

    /// Decrypts like [`Self::decrypt_batch`] and calls `watch` after each transaction with its
    /// results; `watch` may send messages. When it returns `Break`, the current transactions are
    /// committed, and the report covers the messages processed so far.
    ///
    /// # Errors
    /// [`BatchError`] if the store fails, as for [`Self::decrypt_batch`].
    pub fn decrypt_stream(
        &mut self,
        envelopes: &[Envelope<'_>],
        options: &BatchOptions,
        mut watch: impl FnMut(&ChunkReport<'_>, &mut BetweenCommits<'_, '_, A>) -> ControlFlow<()>,
    ) -> Result<BatchReport, BatchError> {
        self.drain(envelopes, options, Some(&mut watch))
    }

    fn drain(
        &mut self,
        envelopes: &[Envelope<'_>],
        options: &BatchOptions,
        watcher: Option<&mut Watcher<'_, A>>,
    ) -> Result<BatchReport, BatchError> {
        let nothing = |cause| BatchError { done: BatchReport::default(), cause };
        let order = Order::of::<A::Ratchet>(envelopes);
        let arranged = order.as_ref().map(|order| order.arrange(envelopes));
        let envelopes = arranged.as_deref().unwrap_or(envelopes);
        let (mut state_cache, mut references) = self.take_memory().map_err(nothing)?;
        let mut batch = Batch::new(envelopes, &mut state_cache);
        let mut progress = Progress::default();
        let device = &self.device;
        let mut watch = Watch { watcher, device, options, order: order.as_ref() };
        let mut local_store = LocalStore {
            store: &mut self.store,
            references: &mut references,
            groups: &device.groups,
            durability: options.durability,
        };
        let threaded = options.threads.get() > 1 && envelopes.len() > 1;
        let run = if threaded { pipeline::run } else { local_store::run };
        let total = envelopes.len();
        let mut ran = run(&mut local_store, &mut batch, total, options, &mut progress, &mut watch);
        if options.durability == Durability::AtEnd
            && progress.commits > 0
            && let Err(cause) = self.store.sync()
        {
            // Committed transactions may still be lost, so all messages must be delivered again.
            progress.committed = 0;
            ran = ran.and(Err(cause.into()));
        }
        let report = batch.finish(progress.committed, progress.commits);
        let report = match &order {
            Some(order) => order.restore(report),
            None => report,
        };
        match ran {
            Ok(()) => {
                self.give_back(state_cache, references);
                Ok(report)
            }
            Err(cause) => Err(BatchError { done: report, cause }),
        }
    }

    /// Runs several operations in one transaction. If `work` or the commit fails, none of them
    /// takes effect, neither in the store nor in memory.
    ///
    /// # Errors
    /// The error of `work`, or [`EngineError`] if the store fails.
    pub fn transaction<T, E: From<EngineError>>(
        &mut self,
        work: impl FnOnce(&mut EngineTransaction<'_, '_, A>) -> Result<T, E>,
    ) -> Result<T, E> {
        let (mut state_cache, mut references) = self.take_memory()?;
        let (store, device) = (&mut self.store, &self.device);
        let value = transaction::run(store, &mut references, device, &mut state_cache, work)?;
        self.give_back(state_cache, references);
        Ok(value)
    }

    /// Encrypts a message to a device. Before the call returns, the ciphertext is committed to the
    /// outbox together with the new state of the session.
    ///
    /// # Errors
    /// [`SendError`] if no session can send, the text is too long or the store fails; nothing was
    /// encrypted then.
    pub fn encrypt(&mut self, to: Address, plaintext: &[u8]) -> Result<Outgoing, SendError> {
        self.send(|transaction| transaction.dispatch(to, plaintext))
    }

    /// Encrypts a message to all members of a group. Before the call returns, the ciphertext is
    /// committed to the outbox together with the new state of the group.
    ///
    /// # Errors
    /// [`SendError`] if the group cannot send, the text is too long or the store fails.
    pub fn encrypt_group(&mut self, group: &[u8], plaintext: &[u8]) -> Result<Outgoing, SendError> {
        self.send(|transaction| transaction.dispatch_group(group, plaintext))
    }

    /// Sends one message in a transaction. A refusal that changed nothing keeps the states in
    /// memory.
    fn send(
        &mut self,
        work: impl FnOnce(&mut EngineTransaction<'_, '_, A>) -> Result<Outgoing, SendError>,
    ) -> Result<Outgoing, SendError> {
        self.transaction(|transaction| match work(transaction) {
            Err(error) if error.is_refusal() => Ok(Err(error)),
            Err(error) => Err(error),
            Ok(outgoing) => Ok(Ok(outgoing)),
        })?
    }

    /// Runs [`EngineTransaction::expire`] in its own transaction, if any session has a pending end.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails.
    pub fn expire(&mut self, now: u64) -> Result<usize, EngineError> {
        if self.reading()?.records(records::ENDING)?.is_empty() {
            return Ok(0);
        }
        self.transaction(|transaction| transaction.expire(now))
    }

    /// Begins a read transaction.
    fn reading(&mut self) -> Result<ReadTransaction<'_>, EngineError> {
        self.ready()?;
        Ok(self.store.read()?)
    }

    /// Reopens the store if the result of a commit is unknown.
    fn ready(&mut self) -> Result<(), EngineError> {
        if self.store.is_uncertain() {
            self.state_cache = None;
            self.references = References::default();
            self.store.reopen().map_err(EngineError::Reopen)?;
        }
        Ok(())
    }

    /// Takes the states out of the engine, or loads them if a failure dropped them. A failure or
    /// panic before [`Self::give_back`] drops them automatically.
    fn take_memory(&mut self) -> Result<(StateCache<A>, References), EngineError> {
        self.ready()?;
        let references = core::mem::take(&mut self.references);
        if let Some(state_cache) = self.state_cache.take() {
            return Ok((state_cache, references));
        }
        let state_cache =
            Self::load_memory(&self.store.read()?, &self.device, self.unknown_senders)?;
        Ok((state_cache, references))
    }

    /// Puts the states back; they must equal those in the store.
    fn give_back(&mut self, mut state_cache: StateCache<A>, references: References) {
        state_cache.settle();
        self.state_cache = Some(state_cache);
        self.references = references;
    }
}

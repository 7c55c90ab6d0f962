//! Transactions of several engine operations.

mod application;
mod group_peers;
mod groups;
mod opened;
mod parked;

use alloc::vec::Vec;

use endseal_crypto::ed25519;
use endseal_keyring::device::{Address, PrekeyBundle, PrekeyKind};
use endseal_store::{SessionStatus, Store, WriteTransaction};

use super::batch::{Batch, StateCache};
use super::conversation::Conversation;
use super::conversation_state::{ConversationState, RemoteDevice, Shown};
use super::device::Device;
use super::inbox::{Received, page};
use super::outbox::Outgoing;
use super::outgoing_message::{OutgoingKind, OutgoingMessage};
use super::records;
use super::references::{References, address_of};
use super::seal::seal;
use super::store_request::{Question, Write};
use super::store_session::StoreSession;
use crate::{EngineError, Envelope, Outcome, PairwiseAccount, Ratchet, SendError, SessionInfo};

pub use groups::{GroupSummary, JoinedGroup};
pub use parked::ParkedMessage;

/// Result of sending a message to all devices of an identity.
#[derive(Debug)]
#[non_exhaustive]
pub struct SentToAll {
    /// Numbers in the outbox, one per device.
    pub numbers: Vec<u64>,
    /// Devices to which the message was not encrypted, with the reason.
    pub skipped: Vec<(Address, SendError)>,
}

/// A transaction of the engine. All of its operations take effect, or none does, in the store and
/// in memory.
#[allow(missing_debug_implementations, reason = "nothing of it is for people")]
pub struct EngineTransaction<'t, 's, A: PairwiseAccount> {
    transaction: &'t WriteTransaction<'s>,
    store_session: StoreSession<'t, 's, A::Ratchet>,
    device: &'t Device,
    state_cache: &'t mut StateCache<A>,
    /// True if the store failed after a state in memory had changed. The memory would be ahead of
    /// the store, so the transaction must not be committed even if `work` succeeds.
    failed: bool,
}

pub(super) fn run<A: PairwiseAccount, T, E: From<EngineError>>(
    store: &mut Store,
    references: &mut References,
    device: &Device,
    state_cache: &mut StateCache<A>,
    work: impl FnOnce(&mut EngineTransaction<'_, '_, A>) -> Result<T, E>,
) -> Result<T, E> {
    let transaction = store.begin().map_err(EngineError::from)?;
    let value = {
        let store_session = StoreSession::new(&transaction, references, &device.groups)?;
        let mut own = EngineTransaction {
            transaction: &transaction,
            store_session,
            device,
            state_cache,
            failed: false,
        };
        let value = work(&mut own)?;
        if own.failed {
            return Err(EngineError::Ended.into());
        }
        let states = own.state_cache.states()?;
        own.store_session.save(&states)?;
        value
    };
    transaction.commit().map_err(EngineError::from)?;
    Ok(value)
}

impl<'t, 's, A: PairwiseAccount> EngineTransaction<'t, 's, A> {
    /// Opens one message. Its text can be read with [`Self::inbox`] at once, but is delivered only
    /// when the transaction is committed.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails; the transaction cannot be committed then. A failure of
    /// the message itself is in the outcome.
    pub fn decrypt(&mut self, envelope: &Envelope<'_>) -> Result<Outcome, EngineError> {
        let outcome = self.open(envelope);
        self.failed |= outcome.is_err();
        outcome
    }

    fn open(&mut self, envelope: &Envelope<'_>) -> Result<Outcome, EngineError> {
        let mut batch = Batch::new(core::slice::from_ref(envelope), self.state_cache);
        let (block, question) = batch.plan(0..1);
        let answer = self.store_session.answer(question)?;
        batch.state_cache.take_in(answer.loaded);
        let work = batch.begin(block, answer.seen);
        let accept_context = batch.state_cache.accept_context();
        let done = work
            .into_iter()
            .map(|conversation_state| conversation_state.run(&accept_context))
            .collect();
        let writes = batch.end(done);
        batch.number(self.store_session.write(writes)?);
        batch.finish(1, 0).outcomes.pop().ok_or(EngineError::Ended)
    }

    /// Encrypts a message to a device on the session that was used last. Returns its number in the
    /// outbox, where the ciphertext can be read after the commit.
    ///
    /// # Errors
    /// [`SendError`] if no session can send, the text is too long or the store fails.
    pub fn encrypt(&mut self, to: Address, plaintext: &[u8]) -> Result<u64, SendError> {
        self.dispatch(to, plaintext).map(|outgoing| outgoing.number)
    }

    /// Encrypts like [`Self::encrypt`], and returns the ciphertext, which must not be sent before
    /// the commit.
    pub(super) fn dispatch(
        &mut self,
        to: Address,
        plaintext: &[u8],
    ) -> Result<Outgoing, SendError> {
        let certificate = &self.device.certificate;
        let remote_device = remote_device(&mut self.store_session, self.state_cache, to)?;
        let body = seal(remote_device, certificate, plaintext)?;
        let conversation = Conversation::person(to.identity.as_bytes());
        Ok(self.depart(OutgoingMessage {
            conversation,
            recipient: Some(to),
            kind: OutgoingKind::Message,
            body,
        })?)
    }

    /// Begins a session with the device `to`, using one of its bundles. The new session is used for
    /// sending from now on.
    ///
    /// # Errors
    /// [`BeginSessionError`](crate::BeginSessionError) if the bundle belongs to another device or
    /// to this one, is superseded or has unusable keys, or the store fails.
    pub fn begin_session(
        &mut self,
        to: Address,
        bundle: &PrekeyBundle,
    ) -> Result<(), crate::BeginSessionError> {
        use crate::BeginSessionError as Error;

        let (theirs, own) = (bundle.certificate(), &self.device.certificate);
        if theirs.address() != to {
            return Err(Error::OtherAddress(theirs.address()));
        }
        let agreement = theirs.keys().agreement;
        if to == own.address() || agreement == own.keys().agreement {
            return Err(Error::Own);
        }
        let ratchet = {
            let accept_context = self.state_cache.accept_context();
            let slot = accept_context.account();
            slot.account.begin(bundle).map_err(Error::Begin)?
        };
        let remote_device =
            remote_device(&mut self.store_session, self.state_cache, to).map_err(Error::Engine)?;
        let shown = match remote_device.check(theirs.as_bytes()) {
            Ok(Shown::Superseded) | Err(_) => return Err(Error::Superseded),
            Ok(shown) => shown,
        };
        remote_device.adopt(shown);
        remote_device.push(ratchet, agreement);
        self.retry_person(to).map_err(Error::Engine)?;
        Ok(())
    }

    /// Makes all sessions with a device receive-only, so that the next message needs a new bundle.
    /// Returns the number of sessions that could send before, or waited for a reset.
    ///
    /// Sessions that cannot be decoded are deleted and counted too. If the latest certificate
    /// cannot be decoded, it is deleted, and the next one counts as the first.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails.
    pub fn reset_session(&mut self, with: Address) -> Result<usize, EngineError> {
        let mut count = 0;
        if self.partner_if_readable(with)?.is_none() {
            let salvaged = self.store_session.salvage(with);
            self.failed |= salvaged.is_err();
            let (remote_device, lost) = salvaged?;
            count += lost;
            let conversation = Conversation::person(with.identity.as_bytes());
            if let ConversationState::Person(person) =
                &mut self.state_cache.conversation_state(&conversation).0
            {
                person.add(remote_device);
            }
            // These messages fail now, because their session does not exist any more.
            self.retry_person(with)?;
        }
        let remote_device = remote_device(&mut self.store_session, self.state_cache, with)?;
        for entry in &mut remote_device.sessions {
            if entry.status != SessionStatus::ReceiveOnly {
                entry.status = SessionStatus::ReceiveOnly;
                entry.changed = true;
                count += 1;
            }
        }
        Ok(count)
    }

    /// Ends sessions whose other side has shown a certificate with another agreement key. The first
    /// call sets their end to 7 days after `now`; a later call deletes them. Returns the number of
    /// deleted sessions. An end more than 7 days ahead, set by a clock that was ahead, is
    /// corrected. Devices with damaged sessions are skipped. `now` is in milliseconds since 1970.
    ///
    /// The caller MUST call this after it has opened the engine, and at least once a day: until
    /// then, sessions with a replaced device can still receive.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails.
    pub fn expire(&mut self, now: u64) -> Result<usize, EngineError> {
        let mut count = 0;
        for (name, _) in self.transaction.records(records::ENDING)? {
            let Some(address) = records::address_in(&name) else { continue };
            // A device with damaged rows needs a reset; the others are processed.
            let Some(remote_device) = self.partner_if_readable(address)? else { continue };
            let (ended, others) = remote_device.expire(now);
            count += ended;
            if !others {
                self.transaction.remove_record(records::ENDING, &name)?;
            }
        }
        Ok(count)
    }

    /// Returns the sessions with a device, the one that was used last first.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails or a row of the device is damaged.
    pub fn sessions(&mut self, with: Address) -> Result<Vec<SessionInfo>, EngineError> {
        let remote_device = remote_device(&mut self.store_session, self.state_cache, with)?;
        let mut sessions: Vec<_> = remote_device
            .sessions
            .iter()
            .map(|it| SessionInfo {
                tag: it.tag,
                status: it.status,
                used: it.used,
                answered: it.ratchet.has_received(),
            })
            .collect();
        sessions.sort_by_key(|it| core::cmp::Reverse(it.used));
        Ok(sessions)
    }

    /// Returns the known devices of an identity, except this device. A message to the identity is
    /// sent to each of them.
    ///
    /// # Errors
    /// [`EngineError`] if the store cannot be read or a row is damaged.
    pub fn devices(&self, identity: &ed25519::PublicKey) -> Result<Vec<Address>, EngineError> {
        let own = self.device.certificate.address();
        let mut devices = Vec::new();
        for (reference, row) in self.transaction.addresses()? {
            if row.identity == *identity.as_bytes() {
                let address = address_of(self.transaction, reference)?;
                if address != own {
                    devices.push(address);
                }
            }
        }
        Ok(devices)
    }

    /// Encrypts a message to every device of an identity. Devices without a session, or with
    /// sessions that await a reset, are skipped and listed in the result.
    ///
    /// # Errors
    /// [`SendError::NoSession`] if no device could be sent to, or [`SendError::Restored`] if one of
    /// them awaits a reset; otherwise the error of [`Self::encrypt`].
    pub fn encrypt_to_all(
        &mut self,
        identity: &ed25519::PublicKey,
        plaintext: &[u8],
    ) -> Result<SentToAll, SendError> {
        let mut sent = SentToAll { numbers: Vec::new(), skipped: Vec::new() };
        for address in self.devices(identity)? {
            match self.encrypt(address, plaintext) {
                Ok(number) => sent.numbers.push(number),
                Err(error @ (SendError::NoSession | SendError::Restored | SendError::Session)) => {
                    sent.skipped.push((address, error));
                }
                Err(error) => return Err(error),
            }
        }
        if !sent.numbers.is_empty() {
            return Ok(sent);
        }
        let waits = sent.skipped.iter().any(|(_, error)| matches!(error, SendError::Restored));
        Err(if waits { SendError::Restored } else { SendError::NoSession })
    }

    /// Makes the identity of an address known, so that its sessions are accepted even if unknown
    /// senders are refused.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails.
    pub fn admit(&mut self, address: Address) -> Result<(), EngineError> {
        let remote_device = remote_device(&mut self.store_session, self.state_cache, address)?;
        remote_device.known = true;
        self.store_session.know(address)?;
        self.retry_person(address)
    }

    /// Returns prekey bundles to publish: `count` one-time bundles and the fallback bundle. New
    /// keys are made only if fewer are [pending](Self::pending_bundles). The fallback key is
    /// replaced when it was published and is 7 days old at `now`, in milliseconds since 1970. A
    /// repeated call returns the same bundles until they are [published](Self::published) or used.
    ///
    /// # Errors
    /// [`EngineError`] if the random source or the store fails.
    pub fn prekey_bundles(
        &mut self,
        count: usize,
        now: u64,
    ) -> Result<Vec<PrekeyBundle>, EngineError> {
        let mut bundles = self.one_time_bundles(count, now)?;
        bundles.push(self.fallback_bundle(now)?);
        Ok(bundles)
    }

    /// Returns one-time bundles like [`Self::prekey_bundles`], without the fallback bundle.
    ///
    /// # Errors
    /// [`EngineError`] if the random source or the store fails.
    pub fn one_time_bundles(
        &mut self,
        count: usize,
        now: u64,
    ) -> Result<Vec<PrekeyBundle>, EngineError> {
        let mut bundles = self.pending_one_time()?;
        if let Some(missing) = count.checked_sub(bundles.len()).filter(|it| *it > 0) {
            let accept_context = self.state_cache.accept_context();
            let mut slot = accept_context.account();
            slot.account.add_one_time_keys(missing, now).map_err(|_| EngineError::Random)?;
            slot.changed = true;
            drop(slot);
            bundles = self.pending_one_time()?;
        }
        bundles.truncate(count);
        Ok(bundles)
    }

    fn pending_one_time(&self) -> Result<Vec<PrekeyBundle>, EngineError> {
        let mut bundles = self.pending_bundles()?;
        bundles.retain(|it| it.kind() == PrekeyKind::OneTime);
        Ok(bundles)
    }

    fn fallback_bundle(&mut self, now: u64) -> Result<PrekeyBundle, EngineError> {
        let accept_context = self.state_cache.accept_context();
        let mut slot = accept_context.account();
        slot.account.refresh_fallback_key(now).map_err(|_| EngineError::Random)?;
        slot.changed = true;
        let bundle = slot.account.fallback(&self.device.certificate);
        bundle.ok().flatten().ok_or(EngineError::Damaged("certificate"))
    }

    /// Returns the bundles that were made and not [published](Self::published), in the order of
    /// making, the fallback last. The same bundle always has the same bytes.
    ///
    /// # Errors
    /// [`EngineError`] if this device's certificate does not match its keys.
    pub fn pending_bundles(&self) -> Result<Vec<PrekeyBundle>, EngineError> {
        let accept_context = self.state_cache.accept_context();
        let pending = accept_context.account().account.pending(&self.device.certificate);
        pending.map_err(|_| EngineError::Damaged("certificate"))
    }

    /// Records that these bundles have arrived in the directory. The caller MUST call this only
    /// after that; bundles that were not published are returned again.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails.
    pub fn published(&mut self, bundles: &[PrekeyBundle]) -> Result<(), EngineError> {
        if let Some(noted) = records::Prekeys::of(self.transaction)?
            && noted.lost
        {
            records::Prekeys { lost: false, ..noted }.put(self.transaction)?;
        }
        let keys: Vec<_> = bundles.iter().map(|it| *it.key()).collect();
        let accept_context = self.state_cache.accept_context();
        let mut slot = accept_context.account();
        slot.account.published(&keys);
        slot.changed = true;
        Ok(())
    }

    /// Returns up to `limit` inbox messages with numbers above `after`. Messages of this
    /// transaction are included; they are not delivered before the commit.
    ///
    /// # Errors
    /// [`EngineError`] if the store cannot be read or a row is damaged.
    pub fn inbox(&self, after: u64, limit: usize) -> Result<Vec<Received>, EngineError> {
        page(self.transaction, after, limit)
    }

    /// Deletes a message of the inbox. Returns true if it was there.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails.
    pub fn consume(&self, number: u64) -> Result<bool, EngineError> {
        Ok(self.transaction.consume(number)?)
    }

    /// Deletes a sent ciphertext from the outbox. Returns true if it was there.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails.
    pub fn sent(&self, number: u64) -> Result<bool, EngineError> {
        Ok(self.transaction.sent(number)?)
    }

    /// Returns the position up to which a delivery queue was read; `None` if none was set.
    ///
    /// # Errors
    /// [`EngineError`] if the store cannot be read.
    pub fn cursor(&self, queue: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        Ok(self.transaction.cursor(queue)?)
    }

    /// Sets the position up to which a delivery queue was read.
    ///
    /// # Errors
    /// [`EngineError`] if the store fails.
    pub fn set_cursor(&self, queue: &[u8], position: &[u8]) -> Result<(), EngineError> {
        Ok(self.transaction.set_cursor(queue, position)?)
    }

    /// Returns the transaction of the store.
    pub(super) fn store(&self) -> &'t WriteTransaction<'s> {
        self.transaction
    }

    /// Writes results that include no delivery.
    pub(super) fn write(&mut self, writes: Vec<Write<'_>>) -> Result<(), EngineError> {
        self.store_session.write(writes).map(drop)
    }

    /// Makes the transaction fail if `failed` is true, because an operation was left half done.
    pub(super) fn fail_if(&mut self, failed: bool) {
        self.failed |= failed;
    }

    /// Returns a device with its sessions.
    pub(super) fn remote_device(
        &mut self,
        address: Address,
    ) -> Result<&mut RemoteDevice<A::Ratchet>, EngineError> {
        remote_device(&mut self.store_session, self.state_cache, address)
    }

    /// Returns a device with its sessions; `None` if one of its rows is damaged.
    pub(super) fn partner_if_readable(
        &mut self,
        address: Address,
    ) -> Result<Option<&mut RemoteDevice<A::Ratchet>>, EngineError> {
        match self.remote_device(address) {
            Err(EngineError::Damaged(_)) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Returns the time at which the oldest fallback key was made, in milliseconds since 1970.
    pub(super) fn fallback_since(&self) -> Option<u64> {
        self.state_cache.accept_context().account().account.fallback_since()
    }

    /// Adds a ciphertext to the outbox.
    fn depart(&mut self, outgoing: OutgoingMessage) -> Result<Outgoing, EngineError> {
        let number = self.store_session.depart(&outgoing);
        self.failed |= number.is_err();
        Ok(Outgoing { number: number?, body: outgoing.body })
    }
}

/// Loads the states of a conversation and a device that are not cached.
fn load<A: PairwiseAccount>(
    store_session: &mut StoreSession<'_, '_, A::Ratchet>,
    state_cache: &mut StateCache<A>,
    conversation: &Conversation,
    device: Option<Address>,
) -> Result<(), EngineError> {
    let mut loads = Vec::new();
    state_cache.need(conversation, device, &mut loads);
    if !loads.is_empty() {
        let answer = store_session.answer(Question { loads, ids: Vec::new() })?;
        state_cache.take_in(answer.loaded);
    }
    Ok(())
}

/// Returns a device with its sessions, which is loaded if it is not cached.
fn remote_device<'m, A: PairwiseAccount>(
    store_session: &mut StoreSession<'_, '_, A::Ratchet>,
    state_cache: &'m mut StateCache<A>,
    address: Address,
) -> Result<&'m mut RemoteDevice<A::Ratchet>, EngineError> {
    let conversation = Conversation::person(address.identity.as_bytes());
    load(store_session, state_cache, &conversation, Some(address))?;
    let ConversationState::Person(person) = &mut state_cache.conversation_state(&conversation).0
    else {
        return Err(EngineError::Damaged("conversation in memory"));
    };
    person.remote_device(address.device).ok_or(EngineError::Damaged("session"))
}

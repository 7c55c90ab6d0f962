//! Several things in one transaction.

mod application;
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

/// A message to all devices of an identity.
#[derive(Debug)]
#[non_exhaustive]
pub struct SentToAll {
    /// Numbers in the outbox, one a device.
    pub numbers: Vec<u64>,
    /// Devices to which nothing was encrypted, and why.
    pub skipped: Vec<(Address, SendError)>,
}

/// A transaction of the engine: all of it or nothing, in the store as in memory.
#[allow(missing_debug_implementations, reason = "nothing of it is for people")]
pub struct EngineTransaction<'t, 's, A: PairwiseAccount> {
    transaction: &'t WriteTransaction<'s>,
    store_session: StoreSession<'t, 's, A::Ratchet>,
    device: &'t Device,
    state_cache: &'t mut StateCache<A>,
    /// True if the store failed after something in memory had changed: the memory would be ahead of
    /// the store, so nothing may be committed, even if `work` succeeds.
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
    /// Opens one message. Its text can be read with [`Self::inbox`] at once; it is delivered when
    /// the transaction was committed.
    ///
    /// # Errors
    /// [`EngineError`] of the store; what is wrong with the message is in the outcome. The
    /// transaction cannot be committed then.
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

    /// Encrypts a message to a device, on the session that was used last: its number in the outbox,
    /// where the ciphertext lies when the transaction was committed, and not before.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn encrypt(&mut self, to: Address, plaintext: &[u8]) -> Result<u64, SendError> {
        self.dispatch(to, plaintext).map(|outgoing| outgoing.number)
    }

    /// [`Self::encrypt`] with the ciphertext, which must not leave before the commit.
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

    /// Begins a session with the device `to` by a bundle of it; messages go on it from now on.
    ///
    /// # Errors
    /// [`BeginSessionError`](crate::BeginSessionError).
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

    /// Makes all sessions with a device receive-only, so that the next message needs a bundle.
    /// Returns how many sessions sent before, or waited for this.
    ///
    /// A session that cannot be read is deleted, and counts too. If the certificate that was seen
    /// last cannot be read, the next one counts as the first.
    ///
    /// # Errors
    /// [`EngineError`].
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
            // They fail now: there is no session for them.
            self.retry_person(with)?;
        }
        let remote_device = remote_device(&mut self.store_session, self.state_cache, with)?;
        for entry in &mut remote_device.sessions {
            if entry.standing != SessionStatus::ReceiveOnly {
                entry.standing = SessionStatus::ReceiveOnly;
                entry.changed = true;
                count += 1;
            }
        }
        Ok(count)
    }

    /// Lets sessions end whose other side has shown a certificate for another agreement key: 7 days
    /// after the first call that finds them so, they are gone. `now` is in milliseconds since 1970.
    /// How many ended. An end that a clock set that was ahead is put right; devices whose sessions
    /// cannot be read are left out.
    ///
    /// The caller MUST call this after it opened the engine and at least once a day: sessions with
    /// a device that was replaced receive until then.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn expire(&mut self, now: u64) -> Result<usize, EngineError> {
        let mut count = 0;
        for (name, _) in self.transaction.records(records::ENDING)? {
            let Some(address) = records::address_in(&name) else { continue };
            // A device whose rows cannot be read waits for a reset, and the others do not wait for
            // it.
            let Some(remote_device) = self.partner_if_readable(address)? else { continue };
            let (ended, others) = remote_device.expire(now);
            count += ended;
            if !others {
                self.transaction.remove_record(records::ENDING, &name)?;
            }
        }
        Ok(count)
    }

    /// The sessions with a device, the one that was used last first.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn sessions(&mut self, with: Address) -> Result<Vec<SessionInfo>, EngineError> {
        let remote_device = remote_device(&mut self.store_session, self.state_cache, with)?;
        let mut sessions: Vec<_> = remote_device
            .sessions
            .iter()
            .map(|it| SessionInfo {
                tag: it.tag,
                standing: it.standing,
                used: it.used,
                answered: it.ratchet.has_received(),
            })
            .collect();
        sessions.sort_by_key(|it| core::cmp::Reverse(it.used));
        Ok(sessions)
    }

    /// The devices of an identity that took part in anything, this device left out: a message to
    /// the identity goes to each of them.
    ///
    /// # Errors
    /// [`EngineError`].
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

    /// Encrypts a message to every device of an identity that can be sent to. Devices without a
    /// session, or whose session awaits a reset, are skipped, and the result says which.
    ///
    /// # Errors
    /// [`SendError::NoSession`] if the message went to no device, or [`SendError::Restored`] if one
    /// of them awaits a reset; otherwise as [`Self::encrypt`].
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

    /// Knows the identity of an address from now on, where strangers are refused.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn admit(&mut self, address: Address) -> Result<(), EngineError> {
        let remote_device = remote_device(&mut self.store_session, self.state_cache, address)?;
        remote_device.known = true;
        self.store_session.know(address)?;
        self.retry_person(address)
    }

    /// Notes whether people compared the safety number with the identity of an address.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn set_verified(&mut self, address: Address, verified: bool) -> Result<(), EngineError> {
        self.store_session.know(address)?;
        self.store_session.set_verified(address, verified)
    }

    /// Bundles to hand out: `count` for one session each, and the fallback. Keys are made only
    /// where too few are [pending](Self::pending_bundles), and the fallback key is replaced when it
    /// was published and is 7 days old at `now`, in milliseconds since 1970. A repeated call
    /// returns the same bundles until they were [published](Self::published) or used.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn prekey_bundles(
        &mut self,
        count: usize,
        now: u64,
    ) -> Result<Vec<PrekeyBundle>, EngineError> {
        let mut bundles = self.one_time_bundles(count, now)?;
        bundles.push(self.fallback_bundle(now)?);
        Ok(bundles)
    }

    /// [`Self::prekey_bundles`] without the fallback.
    ///
    /// # Errors
    /// [`EngineError`].
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

    /// Bundles that were made and not [published](Self::published), in the order of making, the
    /// fallback last. The same bundles have the same bytes.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn pending_bundles(&self) -> Result<Vec<PrekeyBundle>, EngineError> {
        let accept_context = self.state_cache.accept_context();
        let pending = accept_context.account().account.pending(&self.device.certificate);
        pending.map_err(|_| EngineError::Damaged("certificate"))
    }

    /// Notes that these bundles have arrived where others can ask for them. The caller MUST call
    /// this only then: a bundle that is not published is handed out again.
    ///
    /// # Errors
    /// [`EngineError`].
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

    /// Messages of the inbox with a number above `after`, at most `limit`: those of this
    /// transaction too, which are not delivered before it was committed.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn inbox(&self, after: u64, limit: usize) -> Result<Vec<Received>, EngineError> {
        page(self.transaction, after, limit)
    }

    /// Deletes a message of the inbox; whether it was there.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn consume(&self, number: u64) -> Result<bool, EngineError> {
        Ok(self.transaction.consume(number)?)
    }

    /// Forgets a ciphertext of the outbox that has arrived; whether it was there.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn sent(&self, number: u64) -> Result<bool, EngineError> {
        Ok(self.transaction.sent(number)?)
    }

    /// Returns the position up to which a queue is read.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn cursor(&self, queue: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        Ok(self.transaction.cursor(queue)?)
    }

    /// Notes how far a queue is read.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn set_cursor(&self, queue: &[u8], position: &[u8]) -> Result<(), EngineError> {
        Ok(self.transaction.set_cursor(queue, position)?)
    }

    /// The transaction of the store.
    pub(super) fn store(&self) -> &'t WriteTransaction<'s> {
        self.transaction
    }

    /// Writes what came out of work on messages, none of which was delivered.
    pub(super) fn write(&mut self, writes: Vec<Write<'_>>) -> Result<(), EngineError> {
        self.store_session.write(writes).map(drop)
    }

    /// Ends the transaction after an error that left something half done.
    pub(super) fn fail_if(&mut self, failed: bool) {
        self.failed |= failed;
    }

    /// A device with its sessions.
    pub(super) fn remote_device(
        &mut self,
        address: Address,
    ) -> Result<&mut RemoteDevice<A::Ratchet>, EngineError> {
        remote_device(&mut self.store_session, self.state_cache, address)
    }

    /// A device with its sessions; `None` if a row of it cannot be read.
    pub(super) fn partner_if_readable(
        &mut self,
        address: Address,
    ) -> Result<Option<&mut RemoteDevice<A::Ratchet>>, EngineError> {
        match self.remote_device(address) {
            Err(EngineError::Damaged(_)) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Time at which the oldest fallback key was made, in milliseconds since 1970.
    pub(super) fn fallback_since(&self) -> Option<u64> {
        self.state_cache.accept_context().account().account.fallback_since()
    }

    /// Puts a ciphertext into the outbox.
    fn depart(&mut self, outgoing: OutgoingMessage) -> Result<Outgoing, EngineError> {
        let number = self.store_session.depart(&outgoing);
        self.failed |= number.is_err();
        Ok(Outgoing { number: number?, body: outgoing.body })
    }
}

/// Loads what is not in memory of a conversation, and of a device in it.
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

/// A device with its sessions, loaded if it is not in memory.
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

//! The sessions with the devices of one person.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use endseal_crypto::secret::Zeroizing;
use endseal_crypto::x25519;
use endseal_keyring::device::{Address, Certificate, CertificateError, DeviceId, Succession};
use endseal_store::{SessionRow, SessionStatus};

use super::reached::Reached;
use super::{BatchDedup, Occasion, Parked};
use crate::engine::accept_context::{AcceptContext, Own, UnknownSenders};
use crate::engine::body_digest::BodyDigest;
use crate::engine::changeset::Changeset;
use crate::engine::delivery_kind::KIND_TEXT;
use crate::engine::dropped_session::DroppedSession;
use crate::engine::parking_reason::Reason;
use crate::engine::task::{Delivery, Entry, Opened, Task};
use crate::fields::Fields;
use crate::{
    AcceptError, Binding, EngineError, Failure, Message, OpenError, PairwiseAccount, PlaintextHead,
    Ratchet, RatchetBody, SessionTag,
};

/// Sessions that are kept with one device. Two sides that begin at the same time make two; more
/// come only from resets.
const MAX_SESSIONS: usize = 8;

/// Sessions that are remembered as dropped. Only the other side makes more, to its own harm.
const MAX_FORGOTTEN: usize = 1_024;

/// Time for which a session still receives after its key was superseded, in milliseconds: 7 days.
/// What the old device had sent may be on its way.
const GRACE: u64 = 7 * 24 * 60 * 60 * 1_000;

/// All devices of one person.
pub(in crate::engine) struct DirectConversation<R> {
    /// Devices that took part or were loaded; one that is not here must be loaded first.
    remote_devices: BTreeMap<DeviceId, RemoteDevice<R>>,
    /// Devices with a row that cannot be read.
    damaged: BTreeSet<DeviceId>,
}

/// One device.
pub(in crate::engine) struct RemoteDevice<R> {
    pub(in crate::engine) address: Address,
    /// True if the store has a row of the address or of another device of the identity.
    pub(in crate::engine) known: bool,
    /// The certificate that it showed last.
    pub(in crate::engine) seen: Option<Seen>,
    pub(in crate::engine) sessions: Vec<SessionSlot<R>>,
    pub(in crate::engine) certificate_changed: bool,
    /// True if a session was given an end since the last writing.
    ending_changed: bool,
    /// Sessions that were dropped since the last writing.
    pub(in crate::engine) dropped: Vec<SessionTag>,
    /// Sessions that were dropped, the last ones last. Their first messages are not accepted again,
    /// which a fallback key would do.
    pub(in crate::engine) forgotten: Vec<DroppedSession>,
    /// True if `forgotten` has changed since the last writing.
    pub(in crate::engine) forgotten_changed: bool,
}

/// A certificate that was verified.
pub(in crate::engine) enum Seen {
    Decoded(Certificate),
    /// As the store has it, whose pages are authenticated: it was verified before it got there.
    /// Only first messages of sessions ask for more than its bytes, and to decode it takes as long
    /// as twenty messages.
    Stored([u8; Certificate::LEN]),
}

impl Seen {
    fn as_bytes(&self) -> &[u8; Certificate::LEN] {
        match self {
            Self::Decoded(certificate) => certificate.as_bytes(),
            Self::Stored(bytes) => bytes,
        }
    }

    /// All of it. What cannot be decoded vouches for nobody.
    fn decoded(&self) -> Result<Certificate, Failure> {
        match self {
            Self::Decoded(certificate) => Ok(certificate.clone()),
            Self::Stored(bytes) => {
                Certificate::from_bytes(bytes).map_err(|_| Failure::Authentication)
            }
        }
    }
}

/// One session.
pub(in crate::engine) struct SessionSlot<R> {
    pub(in crate::engine) ratchet: R,
    pub(in crate::engine) tag: SessionTag,
    pub(in crate::engine) standing: SessionStatus,
    /// Grows with each use: the highest one is written on.
    pub(in crate::engine) used: u64,
    /// The other side's agreement key, to which the session belongs.
    pub(in crate::engine) agreement: x25519::PublicKey,
    /// The chain of which a message of kind 2 was opened last. All messages of a chain have one
    /// kind.
    plain_chain: Option<[u8; 32]>,
    /// When the session ends, if a later certificate has another agreement key: in milliseconds
    /// since 1970, or 0 until the clock was asked.
    pub(in crate::engine) ends_at: Option<u64>,
    pub(in crate::engine) changed: bool,
}

/// The certificate of a message, beside the one that was seen last.
pub(in crate::engine) enum Shown {
    /// It says what the other says, or it is an earlier one for the same agreement key.
    Known,
    /// It takes the place of the other.
    Later(Box<Certificate>),
    /// It is an earlier one, for another agreement key: no session begins with it.
    Superseded,
}

impl<R: Ratchet> DirectConversation<R> {
    pub(in crate::engine) fn new() -> Self {
        Self { remote_devices: BTreeMap::new(), damaged: BTreeSet::new() }
    }

    /// Takes in a device.
    pub(in crate::engine) fn add(&mut self, remote_device: RemoteDevice<R>) {
        self.damaged.remove(&remote_device.address.device);
        self.remote_devices.insert(remote_device.address.device, remote_device);
    }

    /// Notes a device with a row that cannot be read.
    pub(in crate::engine) fn add_damaged(&mut self, device: DeviceId) {
        self.damaged.insert(device);
    }

    /// A device that was loaded.
    pub(in crate::engine) fn remote_device(
        &mut self,
        device: DeviceId,
    ) -> Option<&mut RemoteDevice<R>> {
        self.remote_devices.get_mut(&device)
    }

    pub(in crate::engine) fn has(&self, device: DeviceId) -> bool {
        self.remote_devices.contains_key(&device) || self.damaged.contains(&device)
    }

    /// Returns the number of devices that are loaded.
    pub(in crate::engine) fn len(&self) -> usize {
        self.remote_devices.len()
    }

    /// Opens one message.
    pub(in crate::engine) fn open<'e, A>(
        &mut self,
        task: &Task<'e>,
        digest: BodyDigest,
        accept_context: &AcceptContext<A>,
    ) -> Opened<'e>
    where
        A: PairwiseAccount<Ratchet = R>,
    {
        let Some(sender) = task.sender else { return Opened::Failed(Failure::Malformed) };
        let is_known = self.is_known();
        let Some(remote_device) = self.remote_devices.get_mut(&sender.device) else {
            let is_damaged = self.damaged.contains(&sender.device);
            let failure = if is_damaged { Failure::Damaged } else { Failure::NoSession };
            return Opened::Failed(failure);
        };
        match remote_device.open(task.body, is_known, accept_context) {
            Ok(plaintext) => {
                let added = Vec::new();
                Opened::Delivery(Delivery { sender, kind: KIND_TEXT, digest, plaintext, added })
            }
            Err(failure) => Opened::Failed(failure),
        }
    }

    /// Returns true if the identity, on whichever device, is no stranger.
    fn is_known(&self) -> bool {
        self.remote_devices.values().any(|it| it.known)
    }

    /// Tries parked messages of the devices that are loaded, until none of them opens. Each is
    /// tried once on an occasion, unless it is too far ahead afterwards and its chain moves again.
    pub(in crate::engine) fn retry<A>(
        &mut self,
        index: usize,
        mut occasion: Occasion,
        dedup: &mut BatchDedup,
        accept_context: &AcceptContext<A>,
        entries: &mut Vec<Entry<'_>>,
    ) where
        A: PairwiseAccount<Ratchet = R>,
    {
        loop {
            let mut reached = Reached::default();
            for row in dedup.parking.take_all() {
                let sender = self.sender_to_retry(&row, accept_context.strangers);
                let Some(sender) = sender.filter(|_| occasion.concerns::<R>(&row)) else {
                    dedup.parking.keep(row);
                    continue;
                };
                let (id, body) = (row.id.as_slice(), row.body.as_slice());
                let task = Task { index, id, sender: Some(sender), body, seen: None };
                let result = match self.open(&task, dedup.digest(body), accept_context) {
                    Opened::Delivery(delivery) => Opened::Delivery(delivery),
                    Opened::Failed(failure) => match Reason::of(failure) {
                        Some(reason) => {
                            dedup.parking.keep(Parked { reason, ..row });
                            continue;
                        }
                        None => Opened::Failed(failure),
                    },
                    // The last line of `open` knows no other result.
                    _ => Opened::Failed(Failure::Malformed),
                };
                dedup.parking.removed(&row, &accept_context.budget);
                if matches!(result, Opened::Delivery(_)) {
                    reached.note::<R>(sender.device, &row.body);
                }
                dedup.end(Entry::unparked(index, row.id, result), &accept_context.budget, entries);
            }
            if reached.is_empty() {
                return;
            }
            occasion = Occasion::Moved(reached);
        }
    }

    /// The sender of a parked message, if it may open now.
    fn sender_to_retry(&self, row: &Parked, strangers: UnknownSenders) -> Option<Address> {
        let is_refused = row.reason == Reason::Unopened(Failure::Stranger)
            && strangers == UnknownSenders::Refused
            && !self.is_known();
        let remote_device = self.remote_devices.get(&DeviceId::new(row.device)?)?;
        (!is_refused).then_some(remote_device.address)
    }

    pub(in crate::engine) fn save(&mut self, states: &mut Changeset) {
        for remote_device in self.remote_devices.values_mut() {
            remote_device.save(states);
        }
    }
}

impl<R: Ratchet> RemoteDevice<R> {
    /// One that the store knows nothing of but, perhaps, the identity.
    pub(in crate::engine) fn new(address: Address, known: bool) -> Self {
        Self {
            address,
            known,
            seen: None,
            sessions: Vec::new(),
            certificate_changed: false,
            ending_changed: false,
            dropped: Vec::new(),
            forgotten: Vec::new(),
            forgotten_changed: false,
        }
    }

    /// Opens a message. `is_known` says whether the identity, on whichever device, is no stranger.
    fn open<A>(
        &mut self,
        body: &[u8],
        is_known: bool,
        accept_context: &AcceptContext<A>,
    ) -> Result<Zeroizing<Vec<u8>>, Failure>
    where
        A: PairwiseAccount<Ratchet = R>,
    {
        match Message::parse(body).map_err(|_| Failure::Malformed)? {
            Message::Ratchet { tag, body } => {
                let latest = self.latest();
                self.session(tag).ok_or(Failure::NoSession)?.open(body, latest)
            }
            Message::Prekey { tag, certificate, body } => {
                let shown = self.check(certificate)?;
                let first = First::new(certificate, &accept_context.own, body)?;
                let latest = self.latest();
                let plaintext = match self.session(tag) {
                    Some(session) => session.open_first(&first, latest)?,
                    None => self.accept(tag, &first, &shown, is_known, accept_context)?,
                };
                self.adopt(shown);
                Ok(plaintext)
            }
            Message::Group(_) => Err(Failure::Malformed),
        }
    }

    /// The first message of a session.
    fn accept<A>(
        &mut self,
        tag: SessionTag,
        first: &First<'_>,
        shown: &Shown,
        is_known: bool,
        accept_context: &AcceptContext<A>,
    ) -> Result<Zeroizing<Vec<u8>>, Failure>
    where
        A: PairwiseAccount<Ratchet = R>,
    {
        if self.forgotten.iter().any(|it| it.tag == tag) {
            return Err(Failure::NoSession);
        }
        if matches!(shown, Shown::Superseded) {
            return Err(Failure::Authentication);
        }
        if !is_known && accept_context.strangers == UnknownSenders::Refused {
            return Err(Failure::Stranger);
        }
        let (ratchet, plaintext) = {
            let mut slot = accept_context.account();
            let verify = |plaintext: &[u8]| first.head.is_before(plaintext);
            let accepted = slot.account.accept(tag, &first.agreement, first.body, verify);
            let accepted = accepted.map_err(|error| match error {
                AcceptError::NoPrekey => Failure::NoPrekey,
                AcceptError::Open(error) => failure(error),
            })?;
            slot.changed = true;
            accepted
        };
        let text = first.head.strip(plaintext).ok_or(Failure::Authentication)?;
        self.push(ratchet, first.agreement);
        Ok(text)
    }

    fn session(&mut self, tag: SessionTag) -> Option<&mut SessionSlot<R>> {
        self.sessions.iter_mut().find(|entry| entry.tag == tag)
    }

    /// A session that is new, and from now on the one to write on.
    pub(in crate::engine) fn push(&mut self, ratchet: R, agreement: x25519::PublicKey) {
        let used = self.latest() + 1;
        let tag = ratchet.tag();
        self.sessions.push(SessionSlot {
            ratchet,
            tag,
            standing: SessionStatus::Active,
            used,
            agreement,
            plain_chain: None,
            ends_at: None,
            changed: true,
        });
        while self.sessions.len() > MAX_SESSIONS {
            let oldest = self.sessions.iter().enumerate().min_by_key(|(_, entry)| entry.used);
            let Some((index, _)) = oldest else { break };
            let tag = self.sessions.remove(index).tag;
            self.forget(tag);
        }
    }

    /// Drops all sessions. Their first messages are not accepted again.
    pub(in crate::engine) fn drop_sessions(&mut self) {
        for entry in core::mem::take(&mut self.sessions) {
            self.forget(entry.tag);
        }
    }

    /// Notes that a session is gone.
    pub(in crate::engine) fn forget(&mut self, tag: SessionTag) {
        self.dropped.push(tag);
        self.forgotten.push(DroppedSession { tag, number: None });
        self.forgotten_changed = true;
        if self.forgotten.len() > MAX_FORGOTTEN {
            self.forgotten.remove(0);
        }
    }

    /// Forgets the tags of sessions that were dropped before the inbox gave out number `below`;
    /// returns how many.
    pub(in crate::engine) fn prune_forgotten(&mut self, below: u64) -> usize {
        let before = self.forgotten.len();
        self.forgotten.retain(|it| it.number.is_none_or(|number| number >= below));
        let pruned = before - self.forgotten.len();
        self.forgotten_changed |= pruned > 0;
        pruned
    }

    /// Gives sessions whose key was superseded an end, and drops those whose end has come: how
    /// many, and whether others have yet to end.
    pub(in crate::engine) fn expire(&mut self, now: u64) -> (usize, bool) {
        let mut ended = Vec::new();
        // Not ENDLESS, which no clock reaches.
        let latest = now.saturating_add(GRACE).min(ENDLESS - 1);
        self.sessions.retain_mut(|entry| match entry.ends_at {
            Some(end) if end != 0 && end <= now => {
                ended.push(entry.tag);
                false
            }
            // It has no end yet, or one of a clock that was ahead.
            Some(end) if end == 0 || end > latest => {
                entry.ends_at = Some(latest);
                entry.changed = true;
                true
            }
            _ => true,
        });
        ended.iter().for_each(|tag| self.forget(*tag));
        (ended.len(), self.sessions.iter().any(|it| it.ends_at.is_some()))
    }

    /// The certificate of a message or bundle, verified.
    pub(in crate::engine) fn check(
        &self,
        bytes: &[u8; Certificate::LEN],
    ) -> Result<Shown, Failure> {
        if self.seen.as_ref().is_some_and(|seen| seen.as_bytes() == bytes) {
            return Ok(Shown::Known);
        }
        let certificate = Certificate::from_bytes(bytes).map_err(|error| match error {
            CertificateError::Authentication => Failure::Authentication,
            _ => Failure::Malformed,
        })?;
        if certificate.address() != self.address {
            return Err(Failure::Authentication);
        }
        let Some(seen) = &self.seen else { return Ok(Shown::Later(Box::new(certificate))) };
        let seen = seen.decoded()?;
        let has_same_key = certificate.keys().agreement == seen.keys().agreement;
        match certificate.succession(&seen) {
            Succession::Later => Ok(Shown::Later(Box::new(certificate))),
            Succession::Same => Ok(Shown::Known),
            Succession::Earlier if has_same_key => Ok(Shown::Known),
            Succession::Earlier => Ok(Shown::Superseded),
            Succession::Conflict => Err(Failure::Authentication),
        }
    }

    /// Returns true if the device has shown a certificate that supersedes this one.
    pub(in crate::engine) fn supersedes(
        &self,
        certificate: &[u8; Certificate::LEN],
    ) -> Result<bool, EngineError> {
        let Some(seen) = self.seen.as_ref().filter(|seen| seen.as_bytes() != certificate) else {
            return Ok(false);
        };
        let damaged = EngineError::Damaged("certificate");
        let (Ok(seen), Ok(own)) = (seen.decoded(), Certificate::from_bytes(certificate)) else {
            return Err(damaged);
        };
        Ok(own.is_superseded_by(&seen))
    }

    /// Takes over a certificate that was proved to belong to who writes. Sessions with another
    /// agreement key receive from now on, until they end.
    pub(in crate::engine) fn adopt(&mut self, shown: Shown) {
        let Shown::Later(certificate) = shown else { return };
        let agreement = certificate.keys().agreement;
        for entry in &mut self.sessions {
            if entry.agreement != agreement && entry.ends_at.is_none() {
                entry.standing = SessionStatus::ReceiveOnly;
                entry.ends_at = Some(0);
                entry.changed = true;
                self.ending_changed = true;
            }
        }
        self.seen = Some(Seen::Decoded(*certificate));
        self.certificate_changed = true;
        self.known = true;
    }

    fn latest(&self) -> u64 {
        self.sessions.iter().map(|entry| entry.used).max().unwrap_or(0)
    }

    fn save(&mut self, states: &mut Changeset) {
        if core::mem::take(&mut self.certificate_changed)
            && let Some(seen) = &self.seen
        {
            states.certificates.push((self.address, seen.as_bytes().to_vec()));
        }
        if core::mem::take(&mut self.ending_changed) {
            states.ending.push(self.address);
        }
        if core::mem::take(&mut self.forgotten_changed) {
            states.forgotten.push((self.address, self.forgotten.clone()));
        }
        for tag in self.dropped.drain(..) {
            states.dropped.push((self.address, *tag.as_bytes()));
        }
        for entry in &mut self.sessions {
            if core::mem::take(&mut entry.changed) {
                states.sessions.push((
                    self.address,
                    SessionRow {
                        tag: *entry.tag.as_bytes(),
                        engine: R::ENGINE,
                        standing: entry.standing,
                        used: entry.used,
                        state: entry.state(),
                    },
                ));
            }
        }
    }
}

/// Stands in a state for a session that does not end.
const ENDLESS: u64 = u64::MAX;

impl<R: Ratchet> SessionSlot<R> {
    /// The row in the store without what the row says itself: the other side's agreement key (32),
    /// when the session ends (8), and the ratchet.
    fn state(&self) -> Zeroizing<Vec<u8>> {
        let ratchet = self.ratchet.save();
        let mut state = Zeroizing::new(Vec::with_capacity(32 + 8 + ratchet.len()));
        state.extend_from_slice(self.agreement.as_bytes());
        state.extend_from_slice(&self.ends_at.unwrap_or(ENDLESS).to_le_bytes());
        state.extend_from_slice(&ratchet);
        state
    }

    /// The session of a row, if this program wrote it.
    pub(in crate::engine) fn load(row: &SessionRow) -> Option<Self> {
        if row.engine != R::ENGINE {
            return None;
        }
        let mut fields = Fields::new(&row.state);
        let agreement = x25519::PublicKey::from_bytes(fields.array()?).ok()?;
        let ends_at = u64::from_le_bytes(*fields.array()?);
        Some(Self {
            ratchet: R::load(fields.rest()).ok()?,
            tag: SessionTag::from_bytes(&row.tag),
            standing: row.standing,
            used: row.used,
            agreement,
            plain_chain: None,
            ends_at: Some(ends_at).filter(|it| *it != ENDLESS),
            changed: false,
        })
    }

    /// Opens a message that carries no certificate. `latest` is the greatest [`used`](Self::used).
    fn open(&mut self, body: &[u8], latest: u64) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let body = RatchetBody::Ratchet(body);
        let chain = R::place(body).map(|place| place.chain);
        let text = if chain.is_some() && chain == self.plain_chain {
            let plaintext = self.ratchet.open(body).map_err(failure)?;
            PlaintextHead::Plain.strip(plaintext).ok_or(Failure::Authentication)?
        } else {
            self.open_on_copy(body, &PlaintextHead::Plain)?
        };
        self.plain_chain = chain;
        self.note_use(latest);
        Ok(text)
    }

    /// Opens a message of kind 1. The certificate beside it is no part of what the MAC covers.
    fn open_first(
        &mut self,
        first: &First<'_>,
        latest: u64,
    ) -> Result<Zeroizing<Vec<u8>>, Failure> {
        if first.agreement != self.agreement {
            return Err(Failure::Authentication);
        }
        let text = self.open_on_copy(RatchetBody::Prekey(first.body), &first.head)?;
        self.note_use(latest);
        Ok(text)
    }

    /// Opens a message of which the head may be wrong: it must not use its key up then.
    fn open_on_copy(
        &mut self,
        body: RatchetBody<'_>,
        head: &PlaintextHead,
    ) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let mut ratchet = self.ratchet.fork();
        let plaintext = ratchet.open(body).map_err(failure)?;
        let text = head.strip(plaintext).ok_or(Failure::Authentication)?;
        self.ratchet = ratchet;
        Ok(text)
    }

    /// The session that the other side wrote on last is the one to answer on, unless its key was
    /// superseded.
    fn note_use(&mut self, latest: u64) {
        if self.used < latest && self.ends_at.is_none() {
            self.used = latest + 1;
        }
        self.changed = true;
    }
}

/// A message of kind 1, whose certificate was verified.
struct First<'a> {
    body: &'a [u8],
    /// The agreement key of the certificate.
    agreement: x25519::PublicKey,
    /// Names the certificate beside the message, and this device.
    head: PlaintextHead,
}

impl<'a> First<'a> {
    fn new(
        certificate: &[u8; Certificate::LEN],
        own: &Own,
        body: &'a [u8],
    ) -> Result<Self, Failure> {
        let agreement = Certificate::agreement_in(certificate).ok_or(Failure::Malformed)?;
        let binding = Binding::of(certificate, &own.address, &own.agreement);
        Ok(Self { body, agreement, head: PlaintextHead::Bound(binding) })
    }
}

fn failure(error: OpenError) -> Failure {
    match error {
        OpenError::Malformed => Failure::Malformed,
        OpenError::Authentication => Failure::Authentication,
        OpenError::KeyGone => Failure::KeyGone,
        OpenError::TooFarAhead { .. } => Failure::TooFarAhead,
    }
}

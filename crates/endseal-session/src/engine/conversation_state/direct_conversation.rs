//! Sessions with the devices of one person.

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

/// Limit of sessions with one device. Two sides that begin at the same time make two; more sessions
/// are made only after resets.
const MAX_SESSIONS: usize = 8;

/// Limit of remembered tags of dropped sessions. Only the other side can make more, to its own
/// harm.
const MAX_FORGOTTEN: usize = 1_024;

/// Time for which a session still receives after its key was superseded: 7 days, in milliseconds.
/// Messages of the old device may still be in a queue.
const GRACE: u64 = 7 * 24 * 60 * 60 * 1_000;

/// State of all devices of one person.
pub(in crate::engine) struct DirectConversation<R> {
    /// Loaded devices. A device that is missing here must be loaded from the store first.
    remote_devices: BTreeMap<DeviceId, RemoteDevice<R>>,
    /// Devices with a row that cannot be decoded.
    damaged: BTreeSet<DeviceId>,
}

/// Certificate and sessions of one remote device.
pub(in crate::engine) struct RemoteDevice<R> {
    pub(in crate::engine) address: Address,
    /// True if the store has a row for the address or for another device of the identity.
    pub(in crate::engine) known: bool,
    /// The latest certificate that the device has shown.
    pub(in crate::engine) seen: Option<Seen>,
    pub(in crate::engine) sessions: Vec<SessionSlot<R>>,
    pub(in crate::engine) certificate_changed: bool,
    /// True if a session received an end time since the last write.
    ending_changed: bool,
    /// Tags of sessions that were dropped since the last write.
    pub(in crate::engine) dropped: Vec<SessionTag>,
    /// Dropped sessions, oldest first. Their first messages are refused, which a fallback key would
    /// otherwise accept again.
    pub(in crate::engine) forgotten: Vec<DroppedSession>,
    /// True if `forgotten` has changed since the last write.
    pub(in crate::engine) forgotten_changed: bool,
}

/// Certificate that was verified.
pub(in crate::engine) enum Seen {
    Decoded(Certificate),
    /// As read from the store, whose pages are authenticated; it was verified before it was stored.
    /// Only the first messages of sessions need it decoded, and decoding takes as long as opening
    /// twenty messages.
    Stored([u8; Certificate::LEN]),
}

impl Seen {
    fn as_bytes(&self) -> &[u8; Certificate::LEN] {
        match self {
            Self::Decoded(certificate) => certificate.as_bytes(),
            Self::Stored(bytes) => bytes,
        }
    }

    /// Returns the decoded certificate. One that cannot be decoded is treated as an authentication
    /// failure.
    fn decoded(&self) -> Result<Certificate, Failure> {
        match self {
            Self::Decoded(certificate) => Ok(certificate.clone()),
            Self::Stored(bytes) => {
                Certificate::from_bytes(bytes).map_err(|_| Failure::Authentication)
            }
        }
    }
}

/// One session with the device.
pub(in crate::engine) struct SessionSlot<R> {
    pub(in crate::engine) ratchet: R,
    pub(in crate::engine) tag: SessionTag,
    pub(in crate::engine) status: SessionStatus,
    /// Grows with each use. The session with the highest value is used for sending.
    pub(in crate::engine) used: u64,
    /// Agreement key of the other side, to which the session belongs.
    pub(in crate::engine) agreement: x25519::PublicKey,
    /// Chain on which a message of kind 2 was opened last. All messages of a chain have the same
    /// kind.
    plain_chain: Option<[u8; 32]>,
    /// End of the session if a later certificate has another agreement key, in milliseconds since
    /// 1970; 0 until [`RemoteDevice::expire`] sets it by the clock.
    pub(in crate::engine) ends_at: Option<u64>,
    pub(in crate::engine) changed: bool,
}

/// Relation of a message's certificate to the latest one that was seen.
pub(in crate::engine) enum Shown {
    /// It has the same content, or is an earlier one with the same agreement key.
    Known,
    /// It replaces the one that was seen.
    Later(Box<Certificate>),
    /// It is an earlier one with another agreement key: no session may begin with it.
    Superseded,
}

impl<R: Ratchet> DirectConversation<R> {
    pub(in crate::engine) fn new() -> Self {
        Self { remote_devices: BTreeMap::new(), damaged: BTreeSet::new() }
    }

    /// Adds a device that was loaded or made.
    pub(in crate::engine) fn add(&mut self, remote_device: RemoteDevice<R>) {
        self.damaged.remove(&remote_device.address.device);
        self.remote_devices.insert(remote_device.address.device, remote_device);
    }

    /// Notes a device with a row that cannot be decoded.
    pub(in crate::engine) fn add_damaged(&mut self, device: DeviceId) {
        self.damaged.insert(device);
    }

    /// Returns a device if it is loaded.
    pub(in crate::engine) fn remote_device(
        &mut self,
        device: DeviceId,
    ) -> Option<&mut RemoteDevice<R>> {
        self.remote_devices.get_mut(&device)
    }

    pub(in crate::engine) fn has(&self, device: DeviceId) -> bool {
        self.remote_devices.contains_key(&device) || self.damaged.contains(&device)
    }

    /// Returns the number of loaded devices.
    pub(in crate::engine) fn len(&self) -> usize {
        self.remote_devices.len()
    }

    /// Opens one message; does not park it.
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

    /// Returns true if any device of the identity is known.
    fn is_known(&self) -> bool {
        self.remote_devices.values().any(|it| it.known)
    }

    /// Tries parked messages of the loaded devices until none of them opens. Each is tried once per
    /// trigger. One that is still too far ahead is tried again when its chain advances.
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
                let sender = self.sender_to_retry(&row, accept_context.unknown_senders);
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
                    // `open` returns no other result.
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

    /// Returns the sender of a parked message that may open now.
    fn sender_to_retry(&self, row: &Parked, unknown_senders: UnknownSenders) -> Option<Address> {
        let is_refused = row.reason == Reason::Unopened(Failure::UnknownSender)
            && unknown_senders == UnknownSenders::Refused
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
    /// Makes the state of a device without a row. `known` is true if the identity is known.
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

    /// Opens a message. `is_known` is true if any device of the identity is known.
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

    /// Accepts a session by its first message, and returns the text.
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
        if !is_known && accept_context.unknown_senders == UnknownSenders::Refused {
            return Err(Failure::UnknownSender);
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

    /// Adds a new session, which is used for sending from now on.
    pub(in crate::engine) fn push(&mut self, ratchet: R, agreement: x25519::PublicKey) {
        let used = self.latest() + 1;
        let tag = ratchet.tag();
        self.sessions.push(SessionSlot {
            ratchet,
            tag,
            status: SessionStatus::Active,
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

    /// Notes that a session was dropped.
    pub(in crate::engine) fn forget(&mut self, tag: SessionTag) {
        self.dropped.push(tag);
        self.forgotten.push(DroppedSession { tag, number: None });
        self.forgotten_changed = true;
        if self.forgotten.len() > MAX_FORGOTTEN {
            self.forgotten.remove(0);
        }
    }

    /// Removes the tags of sessions that were dropped before the inbox assigned number `below`.
    /// Returns their number.
    pub(in crate::engine) fn prune_forgotten(&mut self, below: u64) -> usize {
        let before = self.forgotten.len();
        self.forgotten.retain(|it| it.number.is_none_or(|number| number >= below));
        let pruned = before - self.forgotten.len();
        self.forgotten_changed |= pruned > 0;
        pruned
    }

    /// Sets an end time for sessions whose key was superseded, and drops those that have ended.
    /// Returns the number of dropped sessions, and true if others have a pending end.
    pub(in crate::engine) fn expire(&mut self, now: u64) -> (usize, bool) {
        let mut ended = Vec::new();
        // Must not be ENDLESS, which means no end.
        let latest = now.saturating_add(GRACE).min(ENDLESS - 1);
        self.sessions.retain_mut(|entry| match entry.ends_at {
            Some(end) if end != 0 && end <= now => {
                ended.push(entry.tag);
                false
            }
            // It has no end yet, or one that was set by a clock that was ahead.
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

    /// Verifies the certificate of a message or bundle, and compares it with the latest one.
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

    /// Stores a certificate after its sender has proved the key. Sessions with another agreement
    /// key become receive-only until they end.
    pub(in crate::engine) fn adopt(&mut self, shown: Shown) {
        let Shown::Later(certificate) = shown else { return };
        let agreement = certificate.keys().agreement;
        for entry in &mut self.sessions {
            if entry.agreement != agreement && entry.ends_at.is_none() {
                entry.status = SessionStatus::ReceiveOnly;
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
                        status: entry.status,
                        used: entry.used,
                        state: entry.state(),
                    },
                ));
            }
        }
    }
}

/// Value in a stored state for a session that does not end.
const ENDLESS: u64 = u64::MAX;

impl<R: Ratchet> SessionSlot<R> {
    /// Encodes the state column of the row: the other side's agreement key (32 bytes), the end of
    /// the session (8) and the ratchet.
    fn state(&self) -> Zeroizing<Vec<u8>> {
        let ratchet = self.ratchet.save();
        let mut state = Zeroizing::new(Vec::with_capacity(32 + 8 + ratchet.len()));
        state.extend_from_slice(self.agreement.as_bytes());
        state.extend_from_slice(&self.ends_at.unwrap_or(ENDLESS).to_le_bytes());
        state.extend_from_slice(&ratchet);
        state
    }

    /// Decodes the session of a row. `None` if it was written by another ratchet engine or is
    /// damaged.
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
            status: row.status,
            used: row.used,
            agreement,
            plain_chain: None,
            ends_at: Some(ends_at).filter(|it| *it != ENDLESS),
            changed: false,
        })
    }

    /// Opens a message without a certificate. `latest` is the highest [`used`](Self::used).
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

    /// Opens a message of kind 1 on an existing session. The MAC does not cover its certificate.
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

    /// Opens a message on a copy of the ratchet, so that a wrong head does not use up the message
    /// key.
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

    /// Makes this session the one for answers, because the other side has used it last. A session
    /// whose key was superseded stays receive-only.
    fn note_use(&mut self, latest: u64) {
        if self.used < latest && self.ends_at.is_none() {
            self.used = latest + 1;
        }
        self.changed = true;
    }
}

/// Message of kind 1 with a verified certificate.
struct First<'a> {
    body: &'a [u8],
    /// Agreement key in the certificate.
    agreement: x25519::PublicKey,
    /// Expected head, which binds the certificate and this device.
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

//! The sessions with the devices of one person.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use endseal_crypto::secret::Zeroizing;
use endseal_store::{SessionRow, Standing};

use super::{Fresh, Parked, Reason};
use crate::engine::body_digest::BodyDigest;
use crate::engine::inbox::KIND_TEXT;
use crate::engine::states::States;
use crate::engine::task::{Delivery, Entry, Opened, Task};
use crate::engine::trust::{Strangers, Trust};
use crate::{
    AcceptError, Address, Certificate, CertificateError, DeviceId, Failure, Message, OpenError,
    PairwiseAccount, Ratchet, RatchetBody, SessionTag, Succession,
};

/// Sessions that are kept with one device. Two sides that begin at the same time make two; more come
/// only from resets.
const MAX_SESSIONS: usize = 8;

/// Sessions that are remembered as dropped. Only the other side makes more, to its own harm.
const MAX_FORGOTTEN: usize = 1_024;

/// Rounds in which parked messages are tried, of which each lets one more open at least.
const MAX_RETRIES: usize = 8;

/// All devices of one person.
pub(in crate::engine) struct Correspondence<R> {
    /// Devices that took part or were loaded; one that is not here must be loaded first.
    partners: BTreeMap<DeviceId, Partner<R>>,
    /// Devices with a row that cannot be read.
    damaged: BTreeSet<DeviceId>,
}

/// One device.
pub(in crate::engine) struct Partner<R> {
    pub(in crate::engine) address: Address,
    /// Whether the store has a row of the address or of another device of the identity.
    pub(in crate::engine) known: bool,
    /// The certificate that it showed last.
    pub(in crate::engine) seen: Option<Seen>,
    pub(in crate::engine) sessions: Vec<RatchetEntry<R>>,
    pub(in crate::engine) certificate_changed: bool,
    /// Sessions that were dropped since the last writing.
    pub(in crate::engine) dropped: Vec<SessionTag>,
    /// Sessions that were dropped ever, the last ones last. Their first messages are not accepted again,
    /// which a fallback key would do.
    pub(in crate::engine) forgotten: Vec<SessionTag>,
}

/// A certificate that was verified.
pub(in crate::engine) enum Seen {
    Decoded(Certificate),
    /// As the store has it, whose pages are authenticated: it was verified before it got there. Only
    /// first messages of sessions ask for more than its bytes, and to decode it takes as long as
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
pub(in crate::engine) struct RatchetEntry<R> {
    pub(in crate::engine) ratchet: R,
    pub(in crate::engine) tag: SessionTag,
    pub(in crate::engine) standing: Standing,
    /// Grows with each use: the highest one is written on.
    pub(in crate::engine) used: u64,
    pub(in crate::engine) changed: bool,
}

impl<R: Ratchet> Correspondence<R> {
    pub(in crate::engine) fn new() -> Self {
        Self { partners: BTreeMap::new(), damaged: BTreeSet::new() }
    }

    /// Takes in a device.
    pub(in crate::engine) fn add(&mut self, partner: Partner<R>) {
        self.partners.insert(partner.address.device, partner);
    }

    /// Notes a device with a row that cannot be read.
    pub(in crate::engine) fn add_damaged(&mut self, device: DeviceId) {
        self.damaged.insert(device);
    }

    /// A device that was loaded.
    pub(in crate::engine) fn partner(&mut self, device: DeviceId) -> Option<&mut Partner<R>> {
        self.partners.get_mut(&device)
    }

    pub(in crate::engine) fn has(&self, device: DeviceId) -> bool {
        self.partners.contains_key(&device) || self.damaged.contains(&device)
    }

    /// How many devices it holds.
    pub(in crate::engine) fn len(&self) -> usize {
        self.partners.len()
    }

    /// Opens one message.
    pub(in crate::engine) fn open<'e, A>(
        &mut self,
        task: &Task<'e>,
        digest: BodyDigest,
        trust: &Trust<A>,
    ) -> Opened<'e>
    where
        A: PairwiseAccount<Ratchet = R>,
    {
        let Some(sender) = task.sender else { return Opened::Failed(Failure::Malformed) };
        let is_known = self.is_known();
        let Some(partner) = self.partners.get_mut(&sender.device) else {
            let is_damaged = self.damaged.contains(&sender.device);
            let failure = if is_damaged { Failure::Damaged } else { Failure::NoSession };
            return Opened::Failed(failure);
        };
        match partner.open(task.body, is_known, trust) {
            Ok(plaintext) => {
                Opened::Delivery(Delivery { sender, kind: KIND_TEXT, digest, plaintext })
            }
            Err(failure) => Opened::Failed(failure),
        }
    }

    /// Returns true if the identity, on whichever device, is no stranger.
    fn is_known(&self) -> bool {
        self.partners.values().any(|it| it.known)
    }

    /// Tries parked messages of the devices that are loaded, until none of them opens.
    pub(in crate::engine) fn retry<A>(
        &mut self,
        index: usize,
        fresh: &mut Fresh,
        trust: &Trust<A>,
        entries: &mut Vec<Entry<'_>>,
    ) where
        A: PairwiseAccount<Ratchet = R>,
    {
        for _ in 0..MAX_RETRIES {
            let mut moved = false;
            for row in fresh.parking.take_all() {
                let Some(sender) = self.sender_to_retry(&row, trust.strangers) else {
                    fresh.parking.keep(row);
                    continue;
                };
                let (id, body) = (row.id.as_slice(), row.body.as_slice());
                let task = Task { index, id, sender: Some(sender), body, seen: None };
                let result = match self.open(&task, fresh.digest(body), trust) {
                    Opened::Delivery(delivery) => Opened::Delivery(delivery),
                    Opened::Failed(failure) => match Reason::of(failure) {
                        Some(reason) => {
                            fresh.parking.keep(Parked { reason, ..row });
                            continue;
                        }
                        None => Opened::Failed(failure),
                    },
                    // The last line of `open` knows no other result.
                    _ => Opened::Failed(Failure::Malformed),
                };
                fresh.parking.removed(&row, &trust.budget);
                moved |= matches!(result, Opened::Delivery(_));
                fresh.end(Entry::unparked(index, row.id, result), &trust.budget, entries);
            }
            if !moved {
                return;
            }
        }
    }

    /// The sender of a parked message, if it may open now.
    fn sender_to_retry(&self, row: &Parked, strangers: Strangers) -> Option<Address> {
        let is_refused = row.reason == Reason::Unopened(Failure::Stranger)
            && strangers == Strangers::Refused
            && !self.is_known();
        let partner = self.partners.get(&DeviceId::new(row.device)?)?;
        (!is_refused).then_some(partner.address)
    }

    pub(in crate::engine) fn save(&mut self, states: &mut States) {
        for partner in self.partners.values_mut() {
            partner.save(states);
        }
    }
}

impl<R: Ratchet> Partner<R> {
    /// One that the store knows nothing of but, perhaps, the identity.
    pub(in crate::engine) fn new(address: Address, known: bool) -> Self {
        Self {
            address,
            known,
            seen: None,
            sessions: Vec::new(),
            certificate_changed: false,
            dropped: Vec::new(),
            forgotten: Vec::new(),
        }
    }

    /// Opens a message. `is_known` says whether the identity, on whichever device, is no stranger.
    fn open<A>(
        &mut self,
        body: &[u8],
        is_known: bool,
        trust: &Trust<A>,
    ) -> Result<Zeroizing<Vec<u8>>, Failure>
    where
        A: PairwiseAccount<Ratchet = R>,
    {
        match Message::parse(body).map_err(|_| Failure::Malformed)? {
            Message::Ratchet { tag, body } => {
                self.advance(tag, RatchetBody::Ratchet(body)).unwrap_or(Err(Failure::NoSession))
            }
            Message::Prekey { tag, certificate, body } => {
                let certificate = self.check(certificate)?;
                match self.advance(tag, RatchetBody::Prekey(body)) {
                    Some(result) => result,
                    None => self.accept(tag, certificate, body, is_known, trust),
                }
            }
            Message::Group(_) => Err(Failure::Malformed),
        }
    }

    /// The next message of a session that there is, with what it costs if there is one.
    fn advance(
        &mut self,
        tag: SessionTag,
        body: RatchetBody<'_>,
    ) -> Option<Result<Zeroizing<Vec<u8>>, Failure>> {
        let latest = self.latest();
        let entry = self.sessions.iter_mut().find(|entry| entry.tag == tag)?;
        Some(match entry.ratchet.open(body) {
            Ok(plaintext) => {
                // The one that the other side wrote on last is the one to answer on.
                if entry.used < latest {
                    entry.used = latest + 1;
                }
                entry.changed = true;
                Ok(plaintext)
            }
            Err(error) => Err(failure(error)),
        })
    }

    /// The first message of a session.
    fn accept<A>(
        &mut self,
        tag: SessionTag,
        certificate: Option<Certificate>,
        body: &[u8],
        is_known: bool,
        trust: &Trust<A>,
    ) -> Result<Zeroizing<Vec<u8>>, Failure>
    where
        A: PairwiseAccount<Ratchet = R>,
    {
        if self.forgotten.contains(&tag) {
            return Err(Failure::NoSession);
        }
        if !is_known && trust.strangers == Strangers::Refused {
            return Err(Failure::Stranger);
        }
        let shown = match (&certificate, &self.seen) {
            (Some(certificate), _) => certificate.clone(),
            (None, Some(seen)) => seen.decoded()?,
            (None, None) => return Err(Failure::Authentication),
        };
        let (ratchet, plaintext) = {
            let mut slot = trust.account();
            let accepted = slot.account.accept(tag, &shown.keys().agreement, body).map_err(
                |error| match error {
                    AcceptError::NoPrekey => Failure::NoPrekey,
                    AcceptError::Open(error) => failure(error),
                },
            )?;
            slot.changed = true;
            accepted
        };
        self.adopt(certificate);
        self.push(ratchet);
        Ok(plaintext)
    }

    /// A session that is new, and from now on the one to write on.
    pub(in crate::engine) fn push(&mut self, ratchet: R) {
        let used = self.latest() + 1;
        let tag = ratchet.tag();
        self.sessions.push(RatchetEntry {
            ratchet,
            tag,
            standing: Standing::Sends,
            used,
            changed: true,
        });
        while self.sessions.len() > MAX_SESSIONS {
            let oldest = self.sessions.iter().enumerate().min_by_key(|(_, entry)| entry.used);
            let Some((index, _)) = oldest else { break };
            let tag = self.sessions.remove(index).tag;
            self.dropped.push(tag);
            self.forgotten.push(tag);
            if self.forgotten.len() > MAX_FORGOTTEN {
                self.forgotten.remove(0);
            }
        }
    }

    /// Drops all sessions. Their first messages are not accepted again.
    pub(in crate::engine) fn drop_sessions(&mut self) {
        for entry in self.sessions.drain(..) {
            self.dropped.push(entry.tag);
            self.forgotten.push(entry.tag);
        }
        let excess = self.forgotten.len().saturating_sub(MAX_FORGOTTEN);
        self.forgotten.drain(..excess);
    }

    /// The certificate of a message, if it is another one than that seen last.
    pub(in crate::engine) fn check(
        &self,
        bytes: &[u8; Certificate::LEN],
    ) -> Result<Option<Certificate>, Failure> {
        if self.seen.as_ref().is_some_and(|seen| seen.as_bytes() == bytes) {
            return Ok(None);
        }
        let certificate = Certificate::from_bytes(bytes).map_err(|error| match error {
            CertificateError::Authentication => Failure::Authentication,
            _ => Failure::Malformed,
        })?;
        if certificate.address() != self.address {
            return Err(Failure::Authentication);
        }
        let seen = self.seen.as_ref().map(Seen::decoded).transpose()?;
        match seen.map(|seen| certificate.succession(&seen)) {
            None | Some(Succession::Later) => Ok(Some(certificate)),
            Some(Succession::Same) => Ok(None),
            Some(Succession::Earlier | Succession::Conflict) => Err(Failure::Authentication),
        }
    }

    /// A certificate that was proved to belong to who writes.
    pub(in crate::engine) fn adopt(&mut self, certificate: Option<Certificate>) {
        if let Some(certificate) = certificate {
            self.seen = Some(Seen::Decoded(certificate));
            self.certificate_changed = true;
            self.known = true;
        }
    }

    fn latest(&self) -> u64 {
        self.sessions.iter().map(|entry| entry.used).max().unwrap_or(0)
    }

    fn save(&mut self, states: &mut States) {
        if core::mem::take(&mut self.certificate_changed)
            && let Some(seen) = &self.seen
        {
            states.certificates.push((self.address, seen.as_bytes().to_vec()));
        }
        if !self.dropped.is_empty() {
            let tags = self.forgotten.iter().flat_map(|tag| *tag.as_bytes());
            states.forgotten.push((self.address, tags.collect()));
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
                        state: entry.ratchet.save(),
                    },
                ));
            }
        }
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

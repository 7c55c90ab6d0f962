//! The delivery rules. They work on the devices in memory and on one database transaction.

use core::num::NonZeroU32;
use std::collections::{BTreeMap, HashMap, HashSet};

use endseal_codec::frame::Replayed;
use endseal_codec::hub::{Answer, Code, Person, Prekey, Refused, Welcome};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::position_after;
use endseal_keyring::PersonRecord;
use endseal_keyring::device::{Certificate, PrekeyKind};

use crate::budget::Budget;
use crate::command::{By, MailboxEnd, Publication, Put, Registration, refused};
use crate::digest::short_digest;
use crate::limits::HubLimits;
use crate::metrics::Amount;
use crate::store::{DeviceRow, DeviceState, HubTransaction, StorageError};

/// A device as the hub keeps it in memory.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) state: DeviceState,
    budget: Budget,
    /// Position of the last gap that was reported to the node since the hub started.
    told: u64,
}

impl Device {
    pub(crate) const fn new(state: DeviceState, limits: &HubLimits, now: u64) -> Self {
        Self { state, budget: Budget::full(limits.burst, now), told: 0 }
    }
}

/// A transaction with the devices that it has changed so far. The caller adopts the changed devices
/// after the commit.
pub(crate) struct Rules<'t> {
    devices: &'t HashMap<PeerId, Device>,
    changed: BTreeMap<PeerId, Device>,
    woken: HashSet<PeerId>,
    expired: HashSet<PeerId>,
    stored: Amount,
    transaction: &'t mut dyn HubTransaction,
    limits: &'t HubLimits,
    /// Microseconds since 1970.
    now: u64,
}

/// The changes that a transaction made.
pub(crate) struct Changes {
    pub(crate) devices: BTreeMap<PeerId, Device>,
    pub(crate) woken: HashSet<PeerId>,
    /// The devices some of whose frames expired.
    pub(crate) expired: HashSet<PeerId>,
    /// The frames that were stored. A frame counts once, however many mailboxes it went to.
    pub(crate) stored: Amount,
}

impl<'t> Rules<'t> {
    pub(crate) fn new(
        devices: &'t HashMap<PeerId, Device>,
        transaction: &'t mut dyn HubTransaction,
        limits: &'t HubLimits,
        now: u64,
    ) -> Self {
        let (changed, woken, expired) = (BTreeMap::new(), HashSet::new(), HashSet::new());
        let stored = Amount::default();
        Self { devices, changed, woken, expired, stored, transaction, limits, now }
    }

    /// Writes to the database without changing anything.
    pub(crate) fn probe(&mut self) -> Result<(), StorageError> {
        self.transaction.probe()
    }

    /// Writes the changed devices to the transaction, and returns all changes.
    pub(crate) fn finish(self) -> Result<Changes, StorageError> {
        for device in self.changed.values() {
            self.transaction.update_device(&device.state)?;
        }
        let Self { changed: devices, woken, expired, stored, .. } = self;
        Ok(Changes { devices, woken, expired, stored })
    }

    fn device(&self, peer: &PeerId) -> Option<&Device> {
        self.changed.get(peer).or_else(|| self.devices.get(peer))
    }

    /// Returns the device of a peer if it may make requests.
    fn registered(&self, peer: &PeerId) -> Result<&Device, Code> {
        match self.device(peer) {
            None => Err(Code::REGISTERED),
            Some(device) if device.state.is_pending => Err(Code::REGISTERED),
            Some(device) if device.state.is_revoked => Err(Code::REVOKED),
            Some(device) => Ok(device),
        }
    }

    /// Returns a device for changing. `None` if there is none.
    fn change(&mut self, peer: &PeerId) -> Option<&mut Device> {
        if !self.changed.contains_key(peer) {
            let device = self.devices.get(peer)?.clone();
            self.changed.insert(*peer, device);
        }
        self.changed.get_mut(peer)
    }

    /// Stores a frame in all of its target mailboxes, or in none if it is refused.
    pub(crate) fn put(&mut self, put: &Put) -> Result<Result<(), Refused>, StorageError> {
        if let Some(code) = put.stopped.get() {
            return Ok(Err(refused(*code)));
        }
        let result = self.store(put)?;
        if let Err(Refused { code, mailboxes, .. }) = &result {
            // The sender repeats such a frame without the missing mailboxes. Later frames must not
            // overtake it, so they are refused too.
            let is_put_again = *code == Code::MAILBOX && mailboxes.len() < put.targets.len();
            if matches!(*code, Code::FULL | Code::RATE) || is_put_again {
                let _ = put.stopped.set(*code);
            }
        }
        Ok(result)
    }

    fn store(&mut self, put: &Put) -> Result<Result<(), Refused>, StorageError> {
        let (row, mut next_window) = match self.registered(&put.sender) {
            Ok(device) => (device.state.row, device.state.window.clone()),
            Err(code) => return Ok(Err(refused(code))),
        };
        let digest = short_digest(&put.frame);
        match next_window.accept(put.sequence) {
            Ok(()) => {}
            // The answer was lost, or the frame is put again before it came.
            Err(Replayed::Seen) => {
                let noted = self.transaction.noted_put(row, put.sequence)?;
                let is_same = noted.is_none_or(|noted| noted == digest);
                return Ok(if is_same { Ok(()) } else { Err(refused(Code::USED)) });
            }
            Err(Replayed::Old) => return Ok(Err(refused(Code::OLD))),
        }
        let slot_len = put.slots.len().checked_div(put.targets.len()).unwrap_or_default();
        let added = (put.frame.len() + slot_len) as u64;
        for (code, is_refused) in [
            (Code::MAILBOX, Self::is_absent as fn(&Self, &PeerId, &PeerId, u64) -> bool),
            (Code::FULL, Self::is_full),
        ] {
            let found = put.targets.iter().filter(|it| is_refused(self, &put.sender, it, added));
            let mailboxes: Vec<[u8; 32]> = found.map(|it| *it.as_bytes()).collect();
            if !mailboxes.is_empty() {
                return Ok(Err(Refused { code, mailboxes, ..Refused::default() }));
            }
        }
        let (burst, rate, now) = (self.limits.burst, self.limits.rate, self.now);
        let Some(sender) = self.change(&put.sender) else {
            return Ok(Err(refused(Code::REGISTERED)));
        };
        if let Err(wait) = sender.budget.take(put.targets.len(), burst, rate, now) {
            return Ok(Err(Refused { code: Code::RATE, wait, ..Refused::default() }));
        }
        sender.state.window = next_window;
        self.transaction.note_put(row, put.sequence, &digest)?;
        let message = self.transaction.add_message(put.targets.len(), &put.frame)?;
        for (number, target) in put.targets.iter().enumerate() {
            let slot = put.slots.get(number * slot_len..(number + 1) * slot_len);
            let Some(device) = self.change(target) else { continue };
            let state = &mut device.state;
            let position = position_after(state.last, now)
                .ok_or(StorageError::Format("a mailbox has no positions left"))?;
            (state.last, state.frames, state.bytes) =
                (position, state.frames + 1, state.bytes + added);
            let row = state.row;
            self.transaction.add_delivery(row, position, message, slot.unwrap_or_default())?;
            self.woken.insert(*target);
        }
        self.stored.frames += 1;
        self.stored.bytes += (put.frame.len() + put.slots.len()) as u64;
        Ok(Ok(()))
    }

    /// Returns true if a target has no mailbox for the sender. That of a pending device is for its
    /// own person alone.
    fn is_absent(&self, sender: &PeerId, target: &PeerId, _: u64) -> bool {
        self.device(target).is_none_or(|Device { state, .. }| {
            let is_own =
                || self.device(sender).is_some_and(|it| it.state.identity == state.identity);
            state.is_revoked || state.is_pending && !is_own()
        })
    }

    fn is_full(&self, _: &PeerId, target: &PeerId, added: u64) -> bool {
        self.device(target).is_some_and(|device| {
            device.state.frames >= self.limits.mailbox_frames
                || device.state.bytes.saturating_add(added) > self.limits.mailbox_bytes
        })
    }

    /// Deletes the frames that a node has acknowledged, and returns the end of its mailbox. A
    /// position that the mailbox has not reached yet deletes nothing: in this case the database was
    /// restored from an earlier copy, and its frames are delivered again.
    pub(crate) fn acknowledge(
        &mut self,
        peer: &PeerId,
        position: u64,
        told: u64,
    ) -> Result<Option<MailboxEnd>, StorageError> {
        let Some(device) = self.device(peer) else { return Ok(None) };
        let told = told.max(device.told);
        let is_news = told > device.told;
        let DeviceState { row, last, gap, .. } = device.state;
        if is_news && let Some(device) = self.change(peer) {
            device.told = told;
        }
        if position > last {
            return Ok(Some(MailboxEnd { last, gap }));
        }
        let deleted = self.transaction.delete_deliveries(row, position)?;
        let is_told = gap.0 > 0 && position >= gap.1 && told >= gap.1;
        if (deleted.frames > 0 || is_told)
            && let Some(device) = self.change(peer)
        {
            device.state.frames = device.state.frames.saturating_sub(deleted.frames);
            device.state.bytes = device.state.bytes.saturating_sub(deleted.bytes);
            if deleted.frames > 0 {
                device.state.acknowledged = device.state.acknowledged.max(position);
            }
            if is_told {
                device.state.gap = (0, 0);
            }
        }
        let gap = self.device(peer).map_or((0, 0), |device| device.state.gap);
        Ok(Some(MailboxEnd { last, gap }))
    }

    /// Deletes the frames that are older than the retention period, and records the gaps.
    pub(crate) fn expire(&mut self) -> Result<u64, StorageError> {
        let retention = u64::try_from(self.limits.retention.as_micros()).unwrap_or(u64::MAX);
        let before = self.now.saturating_sub(retention);
        let filled: Vec<_> = self.devices.values().filter(|it| it.state.frames > 0).collect();
        let filled: Vec<_> = filled.iter().map(|it| (it.state.peer, it.state.row)).collect();
        let mut total = 0;
        for (peer, row) in filled {
            // A position is at least the time at which its frame came.
            self.note_dropped(row, before)?;
            let deleted = self.transaction.delete_deliveries(row, before)?;
            if deleted.frames == 0 {
                continue;
            }
            total += deleted.frames;
            if let Some(device) = self.change(&peer) {
                let state = &mut device.state;
                state.frames = state.frames.saturating_sub(deleted.frames);
                state.bytes = state.bytes.saturating_sub(deleted.bytes);
                state.gap = (state.gap.0 + deleted.frames, deleted.position);
                self.expired.insert(peer);
            }
        }
        Ok(total)
    }

    /// Counts frames that are about to be deleted before they were acknowledged, for their senders.
    fn note_dropped(&mut self, mailbox: DeviceRow, up_to: u64) -> Result<(), StorageError> {
        for (sender, frames) in self.transaction.senders(mailbox, up_to)? {
            if let Some(sender) = self.change(&sender) {
                sender.state.dropped += frames;
            }
        }
        Ok(())
    }

    /// Says what there is of a node.
    pub(crate) fn hello(&mut self, peer: &PeerId) -> Result<Answer, StorageError> {
        let state = match self.registered(peer) {
            Ok(device) => device.state.clone(),
            Err(code) => return Ok(Answer::Refused(refused(code))),
        };
        let Some(person) = self.person(&state.identity)? else {
            return Ok(Answer::Refused(refused(Code::REGISTERED)));
        };
        let prekeys = self.transaction.one_time_bundles(state.row)?;
        Ok(Answer::Welcome(Welcome {
            epoch: person.epoch(),
            digest: *person.digest().as_bytes(),
            prekeys: u32::try_from(prekeys).unwrap_or(u32::MAX),
            sequence: state.window.highest(),
            waiting: state.frames,
            acknowledged: state.acknowledged,
            published: state.published,
            dropped: state.dropped,
        }))
    }

    fn person(&mut self, identity: &[u8; 32]) -> Result<Option<PersonRecord>, StorageError> {
        let Some(record) = self.transaction.person(identity)? else { return Ok(None) };
        let person = PersonRecord::parse(&record);
        person.map(Some).map_err(|_| StorageError::Format("a person record cannot be read"))
    }

    /// Registers a device.
    pub(crate) fn register(
        &mut self,
        peer: &PeerId,
        registration: &Registration,
    ) -> Result<Answer, StorageError> {
        let Registration { token, certificate, person } = registration;
        let refuse = |code| Ok(Answer::Refused(refused(code)));
        // A registered device registers others of its person, which are pending until they do it
        // themselves: only a connection proves the key of a device.
        let is_other = certificate.keys().peer_id != *peer
            && self.registered(peer).is_ok_and(|device| {
                device.state.identity == *person.identity().ed25519().as_bytes()
            });
        let asker = peer;
        let peer = if is_other { &certificate.keys().peer_id } else { peer };
        if !fits(peer, certificate, person) {
            return refuse(Code::CERTIFICATE);
        }
        let is_same = |state: &DeviceState| state.certificate == *certificate.as_bytes();
        match self.device(peer).map(|device| &device.state) {
            Some(state) if is_other && is_same(state) && !state.is_revoked => {
                return self.hello(asker);
            }
            Some(state) if state.is_pending && is_same(state) && !state.is_revoked => {
                if let Some(device) = self.change(peer) {
                    device.state.is_pending = false;
                }
                return self.hello(peer);
            }
            // What others have said of a device is void once this registration is accepted.
            Some(state) if state.is_pending => {}
            Some(_) if is_other => return refuse(Code::CERTIFICATE),
            Some(state) if state.is_revoked => return refuse(Code::REVOKED),
            // The device is registered already: the answer to its first request was lost.
            Some(state) if is_same(state) => return self.hello(peer),
            Some(_) => return refuse(Code::CERTIFICATE),
            None => {}
        }
        let identity = *person.identity().ed25519().as_bytes();
        let is_known = self.transaction.person(&identity)?.is_some();
        if let Err(code) = self.check_person(person)? {
            return refuse(code);
        }
        // The number of a device is never reassigned to another key.
        if self.is_number_taken(&identity, certificate) {
            return refuse(Code::CERTIFICATE);
        }
        let may_register = match token {
            Some(token) => self.transaction.use_invitation(token, self.now)?,
            None => is_known && !self.limits.invites_devices,
        };
        if !may_register {
            return refuse(Code::TOKEN);
        }
        self.put_person(person)?;
        let row = match self.device(peer).map(|pending| pending.state.row) {
            Some(row) => {
                self.clear_pending(peer)?;
                row
            }
            None => self.transaction.add_device(peer, &identity, certificate.as_bytes())?,
        };
        let state = DeviceState {
            row,
            peer: *peer,
            identity,
            certificate: certificate.as_bytes().to_vec(),
            is_revoked: false,
            is_pending: is_other,
            window: Default::default(),
            last: 0,
            gap: (0, 0),
            frames: 0,
            bytes: 0,
            acknowledged: 0,
            published: 0,
            dropped: 0,
        };
        self.changed.insert(*peer, Device::new(state, self.limits, self.now));
        self.hello(asker)
    }

    /// Deletes the mailbox of a device that was never proved, and all else but its row.
    fn clear_pending(&mut self, peer: &PeerId) -> Result<(), StorageError> {
        let Some(device) = self.device(peer) else { return Ok(()) };
        let (row, last) = (device.state.row, device.state.last);
        self.note_dropped(row, last)?;
        self.transaction.delete_deliveries(row, last)?;
        self.transaction.clear_device(row)
    }

    /// Returns true if another device of the identity has or had the number of a certificate.
    fn is_number_taken(&self, identity: &[u8; 32], certificate: &Certificate) -> bool {
        let number = certificate.keys().device;
        let all = self.devices.values().chain(self.changed.values()).map(|it| &it.state);
        all.filter(|it| it.identity == *identity)
            .filter_map(|it| Certificate::from_bytes(&it.certificate).ok())
            .any(|it| it.keys().device == number && it.keys().peer_id != certificate.keys().peer_id)
    }

    /// Checks that a person record is the stored one or a later one.
    fn check_person(&mut self, person: &PersonRecord) -> Result<Result<(), Code>, StorageError> {
        let identity = *person.identity().ed25519().as_bytes();
        let is_right = match self.person(&identity)? {
            None => true,
            Some(held) => person.as_bytes() == held.as_bytes() || person.supersedes(&held).is_ok(),
        };
        Ok(if is_right { Ok(()) } else { Err(Code::PERSON) })
    }

    /// Stores a person record. Devices that it no longer contains are revoked: their mailboxes are
    /// deleted, and everything else that is stored about them but their rows.
    fn put_person(&mut self, person: &PersonRecord) -> Result<(), StorageError> {
        let identity = *person.identity().ed25519().as_bytes();
        self.transaction.put_person(&identity, person.as_bytes())?;
        let all = self.devices.values().chain(self.changed.values());
        let own = all.filter(|it| it.state.identity == identity && !it.state.is_revoked);
        let own: HashSet<PeerId> = own.map(|it| it.state.peer).collect();
        for peer in own {
            let Some(device) = self.device(&peer) else { continue };
            let certificate = Certificate::from_bytes(&device.state.certificate)
                .map_err(|_| StorageError::Format("a certificate cannot be read"))?;
            if has_device(person, &certificate) {
                continue;
            }
            let (row, last) = (device.state.row, device.state.last);
            self.note_dropped(row, last)?;
            self.transaction.delete_deliveries(row, last)?;
            self.transaction.clear_device(row)?;
            if let Some(device) = self.change(&peer) {
                let state = &mut device.state;
                (state.is_revoked, state.frames, state.bytes) = (true, 0, 0);
            }
        }
        Ok(())
    }

    /// Stores what a device publishes.
    pub(crate) fn publish(
        &mut self,
        peer: &PeerId,
        publication: &Publication,
    ) -> Result<Answer, StorageError> {
        let refuse = |code| Ok(Answer::Refused(refused(code)));
        let state = match self.registered(peer) {
            Ok(device) => device.state.clone(),
            Err(code) => return refuse(code),
        };
        let held = Certificate::from_bytes(&state.certificate)
            .map_err(|_| StorageError::Format("a certificate cannot be read"))?;
        let certificate = publication.certificate.as_ref().unwrap_or(&held);
        let is_own = certificate.keys().peer_id == *peer
            && certificate.address() == held.address()
            && certificate.made_at() >= held.made_at();
        if !is_own || publication.bundles.iter().any(|it| it.certificate() != certificate) {
            return refuse(Code::CERTIFICATE);
        }
        if let Some(person) = &publication.person {
            if *person.identity().ed25519() != held.address().identity {
                return refuse(Code::CERTIFICATE);
            }
            if let Err(code) = self.check_person(person)? {
                return refuse(code);
            }
            self.put_person(person)?;
            // The record may have revoked the device that published it.
            if let Err(code) = self.registered(peer) {
                return refuse(code);
            }
        }
        if let Some(device) = self.change(peer) {
            device.state.certificate = certificate.as_bytes().to_vec();
            device.state.published += publication.bundles.len() as u64;
        }
        if publication.replace {
            self.transaction.delete_one_time_bundles(state.row)?;
        }
        let stored = self.transaction.one_time_bundles(state.row)?;
        let mut left = self.limits.bundles.saturating_sub(stored);
        for bundle in &publication.bundles {
            let is_one_time = bundle.kind() == PrekeyKind::OneTime;
            if is_one_time && left == 0 {
                continue;
            }
            left -= u64::from(is_one_time);
            self.transaction.add_bundle(state.row, is_one_time, bundle.as_bytes())?;
        }
        self.hello(peer)
    }

    /// Looks up a person.
    pub(crate) fn find(&mut self, by: &By) -> Result<Answer, StorageError> {
        let identity = match by {
            By::Identity(identity) => Some(*identity),
            By::Peer(peer) => {
                let device = self.device(peer).filter(|device| !device.state.is_pending);
                device.map(|device| device.state.identity)
            }
        };
        let person = identity.map(|it| self.person_with_devices(&it, false)).transpose()?.flatten();
        let person = person.filter(|it| !it.certificates.is_empty());
        Ok(person.map_or(Answer::Refused(refused(Code::NONE)), Answer::Person))
    }

    /// Gives the record of a person who has proved to be it, also one without a device.
    pub(crate) fn recover(&mut self, identity: &[u8; 32]) -> Result<Answer, StorageError> {
        let person = self.person_with_devices(identity, true)?;
        Ok(person.map_or(Answer::Refused(refused(Code::NONE)), Answer::Person))
    }

    /// The record of a person and the certificates of its devices that are not revoked, with those
    /// that have not registered themselves or without.
    fn person_with_devices(
        &mut self,
        identity: &[u8; 32],
        with_pending: bool,
    ) -> Result<Option<Person>, StorageError> {
        let Some(record) = self.transaction.person(identity)? else { return Ok(None) };
        let unchanged = self.devices.iter().filter(|it| !self.changed.contains_key(it.0));
        let all = unchanged.map(|it| it.1).chain(self.changed.values()).map(|it| &it.state);
        let own = all.filter(|it| it.identity == *identity && !it.is_revoked);
        let own = own.filter(|it| with_pending || !it.is_pending);
        let certificates = own.map(|it| it.certificate.as_slice().into()).collect();
        Ok(Some(Person { person: record.into(), certificates }))
    }

    /// Hands out a prekey bundle of a device.
    pub(crate) fn take(&mut self, peer: &PeerId, device: &PeerId) -> Result<Answer, StorageError> {
        let asker = match self.registered(peer) {
            Ok(asker) => asker.state.row,
            Err(code) => return Ok(Answer::Refused(refused(code))),
        };
        let none = Answer::Refused(refused(Code::NONE));
        let Ok(device) = self.registered(device) else { return Ok(none) };
        let row = device.state.row;
        let interval = u64::try_from(self.limits.bundle_interval.as_micros()).unwrap_or(u64::MAX);
        let since = self.now.saturating_sub(interval);
        let bundle = self.transaction.take_bundle(row, asker, since, self.now)?;
        Ok(bundle.map_or(none, |bundle| Answer::Prekey(Prekey { bundle: bundle.into() })))
    }
}

/// Returns true if a certificate and a person record belong to the peer and to each other.
fn fits(peer: &PeerId, certificate: &Certificate, person: &PersonRecord) -> bool {
    let keys = certificate.keys();
    keys.peer_id == *peer
        && certificate.address().identity == *person.identity().ed25519()
        && has_device(person, certificate)
}

/// Returns true if a person record contains the device of a certificate.
fn has_device(person: &PersonRecord, certificate: &Certificate) -> bool {
    NonZeroU32::new(certificate.keys().device.number())
        .is_some_and(|it| person.device(it).is_some())
}

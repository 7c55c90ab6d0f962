//! The delivery rules. They work on the devices in memory and on one database transaction.

use core::num::NonZeroU32;
use std::collections::{BTreeMap, HashMap, HashSet};

use endseal_codec::frame::Replayed;
use endseal_codec::hub::{Answer, Code, Person, Prekey, Refused, Welcome};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::position_after;
use endseal_keyring::PersonRecord;
use endseal_keyring::device::{Certificate, PrekeyBundle, PrekeyKind};

use crate::budget::Budgets;
use crate::command::{By, MailboxEnd, Publication, Put, Registration, refused};
use crate::digest::short_digest;
use crate::limits::HubLimits;
use crate::metrics::Amount;
use crate::store::{Deleted, DeviceState, HubTransaction, Share, StorageError};

/// Bytes of frames for which a sender pays as for one frame.
const COST_UNIT: usize = 64 << 10;
/// Devices that a person can have registered in all, with those that are revoked.
const MAX_DEVICES: usize = 256;
/// Bytes of the database that a frame and a delivery need besides their contents, rounded up.
const FRAME_OVERHEAD: u64 = 4_096;
const DELIVERY_OVERHEAD: u64 = 128;

/// A device as the hub keeps it in memory.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) state: DeviceState,
    /// Frames and bytes in the mailbox, by the identities of the senders.
    shares: BTreeMap<[u8; 32], Amount>,
}

impl Device {
    pub(crate) const fn new(state: DeviceState) -> Self {
        Self { state, shares: BTreeMap::new() }
    }

    /// Counts frames of a sender, which wait in the mailbox already.
    pub(crate) fn add_share(&mut self, sender: [u8; 32], frames: u64, bytes: u64) {
        let share = self.shares.entry(sender).or_default();
        (share.frames, share.bytes) = (share.frames + frames, share.bytes + bytes);
    }

    fn subtract_share(&mut self, sender: &[u8; 32], frames: u64, bytes: u64) {
        let Some(share) = self.shares.get_mut(sender) else { return };
        share.frames = share.frames.saturating_sub(frames);
        share.bytes = share.bytes.saturating_sub(bytes);
        if share.frames == 0 {
            self.shares.remove(sender);
        }
    }
}

/// Frames of a mailbox that are to be deleted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deletion {
    pub(crate) peer: PeerId,
    /// Position of the last one.
    pub(crate) up_to: u64,
    pub(crate) reason: DeletionReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeletionReason {
    Acknowledged,
    Expired,
    /// The device was revoked, or registered anew.
    Dropped,
}

/// The state of the hub that the rules read and change beside the transaction.
#[derive(Debug)]
pub(crate) struct Context<'t> {
    /// The devices as they were before the transaction.
    pub(crate) devices: &'t HashMap<PeerId, Device>,
    /// Positions of the last gaps that were reported to the nodes since the hub started.
    pub(crate) told: &'t mut HashMap<PeerId, u64>,
    pub(crate) budgets: &'t Budgets,
    /// Bytes that wait in all mailboxes, by the identities of the senders, before the transaction.
    pub(crate) totals: &'t HashMap<[u8; 32], u64>,
    pub(crate) limits: &'t HubLimits,
    /// Bytes of the database that frames may still take up.
    pub(crate) room: u64,
    /// Microseconds since 1970.
    pub(crate) now: u64,
}

/// A transaction with the devices that it has changed so far. The caller adopts the changed devices
/// after the commit.
pub(crate) struct Rules<'t> {
    context: Context<'t>,
    changed: BTreeMap<PeerId, Device>,
    woken: HashSet<PeerId>,
    expired: HashSet<PeerId>,
    stored: Amount,
    deletions: Vec<Deletion>,
    added: HashMap<[u8; 32], i64>,
    transaction: &'t mut dyn HubTransaction,
}

/// The changes that a transaction made.
pub(crate) struct Changes {
    pub(crate) devices: BTreeMap<PeerId, Device>,
    pub(crate) woken: HashSet<PeerId>,
    /// The devices some of whose frames expired.
    pub(crate) expired: HashSet<PeerId>,
    /// The frames that were stored. A frame counts once, however many mailboxes it went to.
    pub(crate) stored: Amount,
    /// Frames that are to be deleted in later transactions.
    pub(crate) deletions: Vec<Deletion>,
    /// Change of the bytes that wait, by the identities of the senders.
    pub(crate) added: HashMap<[u8; 32], i64>,
}

impl<'t> Rules<'t> {
    pub(crate) fn new(context: Context<'t>, transaction: &'t mut dyn HubTransaction) -> Self {
        Self {
            context,
            changed: BTreeMap::new(),
            woken: HashSet::new(),
            expired: HashSet::new(),
            stored: Amount::default(),
            deletions: Vec::new(),
            added: HashMap::new(),
            transaction,
        }
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
        let Self { changed: devices, woken, expired, stored, deletions, added, .. } = self;
        Ok(Changes { devices, woken, expired, stored, deletions, added })
    }

    fn device(&self, peer: &PeerId) -> Option<&Device> {
        self.changed.get(peer).or_else(|| self.context.devices.get(peer))
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
            let device = self.context.devices.get(peer)?.clone();
            self.changed.insert(*peer, device);
        }
        self.changed.get_mut(peer)
    }

    /// Returns the bytes of a person's frames that wait in all mailboxes.
    fn total(&self, sender: &[u8; 32]) -> u64 {
        let before = self.context.totals.get(sender).copied().unwrap_or_default();
        before.saturating_add_signed(self.added.get(sender).copied().unwrap_or_default())
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
            if matches!(*code, Code::FULL | Code::RATE | Code::SPACE) || is_put_again {
                let _ = put.stopped.set(*code);
            }
        }
        Ok(result)
    }

    fn store(&mut self, put: &Put) -> Result<Result<(), Refused>, StorageError> {
        let (row, identity, mut next_window) = match self.registered(&put.sender) {
            Ok(Device { state, .. }) => (state.row, state.identity, state.window.clone()),
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
            (Code::MAILBOX, Self::is_absent as fn(&Self, &[u8; 32], &PeerId, u64) -> bool),
            (Code::FULL, Self::is_full),
        ] {
            let found = put.targets.iter().filter(|it| is_refused(self, &identity, it, added));
            let mailboxes: Vec<[u8; 32]> = found.map(|it| *it.as_bytes()).collect();
            if !mailboxes.is_empty() {
                return Ok(Err(Refused { code, mailboxes, ..Refused::default() }));
            }
        }
        // The log and the database each need this.
        let taken = 2 * (FRAME_OVERHEAD + (put.frame.len() + put.slots.len()) as u64)
            + 2 * DELIVERY_OVERHEAD * put.targets.len() as u64;
        // As in a mailbox, a person may keep as much waiting as is left for all others.
        let room =
            self.context.room.checked_sub(taken).filter(|left| self.total(&identity) <= *left);
        let Some(room) = room else { return Ok(Err(refused(Code::SPACE))) };
        let cost = put.targets.len() * (1 + put.frame.len() / COST_UNIT);
        if let Err(refused) = self.context.budgets.take(&put.sender, cost, self.context.now) {
            return Ok(Err(refused));
        }
        let Some(sender) = self.change(&put.sender) else {
            return Ok(Err(refused(Code::REGISTERED)));
        };
        sender.state.window = next_window;
        self.context.room = room;
        let now = self.context.now;
        self.transaction.note_put(row, put.sequence, &digest)?;
        let message = self.transaction.add_message(row, put.targets.len(), &put.frame)?;
        for (number, target) in put.targets.iter().enumerate() {
            let slot = put.slots.get(number * slot_len..(number + 1) * slot_len);
            let Some(device) = self.change(target) else { continue };
            let state = &mut device.state;
            let position = position_after(state.last, now)
                .ok_or(StorageError::Format("a mailbox has no positions left"))?;
            (state.last, state.frames, state.bytes) =
                (position, state.frames + 1, state.bytes + added);
            let row = state.row;
            device.add_share(identity, 1, added);
            *self.added.entry(identity).or_default() += added.cast_signed();
            self.transaction.add_delivery(row, position, message, slot.unwrap_or_default())?;
            self.woken.insert(*target);
        }
        self.stored.frames += 1;
        self.stored.bytes += (put.frame.len() + put.slots.len()) as u64;
        Ok(Ok(()))
    }

    /// Returns true if a target has no mailbox for the sender. That of a pending device is for its
    /// own person alone.
    fn is_absent(&self, sender: &[u8; 32], target: &PeerId, _: u64) -> bool {
        self.device(target).is_none_or(|Device { state, .. }| {
            state.is_revoked || state.is_pending && state.identity != *sender
        })
    }

    /// Returns true if a mailbox has no room, or the sender has taken its share of it: as much as
    /// is left for all others. So one person fills half of a mailbox, two fill three quarters, and
    /// there is always room for another. The owner has no share to keep to.
    fn is_full(&self, sender: &[u8; 32], target: &PeerId, added: u64) -> bool {
        let Some(Device { state, shares }) = self.device(target) else { return false };
        let frames = self.context.limits.mailbox_frames.saturating_sub(state.frames);
        let bytes = self.context.limits.mailbox_bytes.saturating_sub(state.bytes);
        let share = match state.identity == *sender {
            true => Amount::default(),
            false => shares.get(sender).copied().unwrap_or_default(),
        };
        share.frames >= frames || share.bytes.saturating_add(added) > bytes
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
        let DeviceState { last, gap, .. } = device.state;
        let before = self.context.told.get(peer).copied().unwrap_or_default();
        let told = before.max(told);
        if told > before {
            self.context.told.insert(*peer, told);
        }
        if position > last {
            return Ok(Some(MailboxEnd { last, gap }));
        }
        let reason = DeletionReason::Acknowledged;
        let deleted = self.delete(&Deletion { peer: *peer, up_to: position, reason })?;
        if deleted > 0
            && let Some(device) = self.change(peer)
        {
            device.state.acknowledged = device.state.acknowledged.max(position);
        }
        let is_told = gap.0 > 0 && position >= gap.1 && told >= gap.1;
        if is_told && let Some(device) = self.change(peer) {
            device.state.gap = (0, 0);
        }
        let gap = self.device(peer).map_or((0, 0), |device| device.state.gap);
        Ok(Some(MailboxEnd { last, gap }))
    }

    /// Deletes frames of a mailbox, and returns their number. If they are many, the rest is deleted
    /// in later transactions.
    pub(crate) fn delete(&mut self, deletion: &Deletion) -> Result<u64, StorageError> {
        let Deletion { peer, up_to, reason } = *deletion;
        let Some(device) = self.device(&peer).filter(|device| device.state.frames > 0) else {
            return Ok(0);
        };
        let row = device.state.row;
        let Deleted { shares, position, is_all } =
            self.transaction.delete_deliveries(row, up_to)?;
        if !is_all {
            self.deletions.push(*deletion);
        }
        let mut total = 0;
        for Share { sender, frames, bytes } in shares {
            let identity = self.device(&sender).map(|device| device.state.identity);
            // Senders learn of frames that are deleted before they were acknowledged.
            if reason != DeletionReason::Acknowledged
                && let Some(sender) = self.change(&sender)
            {
                sender.state.dropped += frames;
            }
            let Some(device) = self.change(&peer) else { continue };
            device.state.frames = device.state.frames.saturating_sub(frames);
            device.state.bytes = device.state.bytes.saturating_sub(bytes);
            if let Some(identity) = identity {
                device.subtract_share(&identity, frames, bytes);
                *self.added.entry(identity).or_default() -= bytes.cast_signed();
            }
            total += frames;
        }
        if total > 0
            && reason == DeletionReason::Expired
            && let Some(device) = self.change(&peer)
        {
            device.state.gap = (device.state.gap.0 + total, position);
            self.expired.insert(peer);
        }
        Ok(total)
    }

    /// Plans the deletion of the frames that are older than the retention at a time.
    pub(crate) fn expire(&mut self, time: u64) {
        let retention =
            u64::try_from(self.context.limits.retention.as_micros()).unwrap_or(u64::MAX);
        let before = time.saturating_sub(retention);
        let filled = self.context.devices.values().filter(|it| it.state.frames > 0);
        self.deletions.extend(filled.map(|device| Deletion {
            peer: device.state.peer,
            // A position is at least the time at which its frame came.
            up_to: before,
            reason: DeletionReason::Expired,
        }));
    }

    /// Notes the time up to which the clock is trusted.
    pub(crate) fn note_time(&mut self, time: u64) -> Result<(), StorageError> {
        self.transaction.note_time(time)
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
        // Rows of devices stay, so that no number is given to another key.
        let is_new = self.device(peer).is_none();
        if is_new && (self.context.room == 0 || self.count_devices(&identity) >= MAX_DEVICES) {
            return refuse(Code::SPACE);
        }
        let invitation = match token {
            Some(token) => self.transaction.use_invitation(token, self.context.now)?,
            None if !is_known || self.context.limits.invites_devices => None,
            None => (!self.transaction.is_removed(&identity)?).then(String::new),
        };
        let Some(invitation) = invitation else { return refuse(Code::TOKEN) };
        self.put_person(person)?;
        if token.is_some() {
            self.transaction.set_removed(&identity, false)?;
        }
        let (row, left) = match self.device(peer).map(|pending| pending.state.row) {
            Some(row) => {
                self.transaction.admit_device(row)?;
                (row, self.drop_mailbox(peer)?)
            }
            None => {
                let certificate = certificate.as_bytes();
                (self.transaction.add_device(peer, &identity, certificate, &invitation)?, None)
            }
        };
        let (frames, bytes) =
            left.as_ref().map_or((0, 0), |left| (left.state.frames, left.state.bytes));
        let state = DeviceState {
            row,
            peer: *peer,
            identity,
            certificate: certificate.as_bytes().to_vec(),
            invitation,
            is_revoked: false,
            is_pending: is_other,
            window: Default::default(),
            last: 0,
            gap: (0, 0),
            frames,
            bytes,
            acknowledged: 0,
            published: 0,
            dropped: 0,
        };
        let shares = left.map(|left| left.shares).unwrap_or_default();
        self.changed.insert(*peer, Device { state, shares });
        self.hello(asker)
    }

    /// Deletes what waits for a device, and all else but its row. Returns the device with what is
    /// deleted in later transactions.
    fn drop_mailbox(&mut self, peer: &PeerId) -> Result<Option<Device>, StorageError> {
        let Some(device) = self.device(peer) else { return Ok(None) };
        let (row, up_to) = (device.state.row, device.state.last);
        self.delete(&Deletion { peer: *peer, up_to, reason: DeletionReason::Dropped })?;
        self.transaction.clear_device(row)?;
        Ok(self.device(peer).cloned())
    }

    /// Returns the number of devices that an identity has or had.
    fn count_devices(&self, identity: &[u8; 32]) -> usize {
        let new = self.changed.iter().filter(|it| !self.context.devices.contains_key(it.0));
        let all = self.context.devices.values().chain(new.map(|it| it.1));
        all.filter(|it| it.state.identity == *identity).count()
    }

    /// Returns true if another device of the identity has or had the number of a certificate.
    fn is_number_taken(&self, identity: &[u8; 32], certificate: &Certificate) -> bool {
        let number = certificate.keys().device;
        let all = self.context.devices.values().chain(self.changed.values()).map(|it| &it.state);
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
        let all = self.context.devices.values().chain(self.changed.values());
        let own = all.filter(|it| it.state.identity == identity && !it.state.is_revoked);
        let own: HashSet<PeerId> = own.map(|it| it.state.peer).collect();
        for peer in own {
            let Some(device) = self.device(&peer) else { continue };
            let certificate = Certificate::from_bytes(&device.state.certificate)
                .map_err(|_| StorageError::Format("a certificate cannot be read"))?;
            if has_device(person, &certificate) {
                continue;
            }
            self.drop_mailbox(&peer)?;
            if let Some(device) = self.change(&peer) {
                device.state.is_revoked = true;
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
        let mut left = self.context.limits.bundles.saturating_sub(stored);
        // One fallback bundle is kept, so that the last one alone is written.
        let is_fallback = |it: &&PrekeyBundle| it.kind() != PrekeyKind::OneTime;
        let fallback = publication.bundles.iter().rfind(is_fallback);
        let one_time = publication.bundles.iter().filter(|it| !is_fallback(it));
        for bundle in one_time.chain(fallback) {
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
        let unchanged = self.context.devices.iter().filter(|it| !self.changed.contains_key(it.0));
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
        let interval =
            u64::try_from(self.context.limits.bundle_interval.as_micros()).unwrap_or(u64::MAX);
        let since = self.context.now.saturating_sub(interval);
        let bundle = self.transaction.take_bundle(row, asker, since, self.context.now)?;
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

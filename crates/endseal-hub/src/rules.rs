//! The delivery rules. They work on one transaction, and on the devices that it has read.

mod group;
mod lookup;
mod mailbox;
mod publication;
mod put;
mod registration;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use endseal_codec::hub::Code;
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::hub::GroupId;
use endseal_keyring::PersonRecord;

use self::group::Group;
use crate::command::{By, Command};
use crate::limits::HubLimits;
use crate::metrics::Amount;
use crate::store::{
    DeviceRow, DeviceState, GroupTotals, HubTransaction, Mailbox, Quota, ShareChange, StorageError,
};

/// A device and what waits for it.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) state: DeviceState,
    /// Frames and bytes in the mailbox, by the identities of the senders.
    shares: BTreeMap<[u8; 32], Amount>,
}

impl From<Mailbox> for Device {
    fn from(Mailbox { state, shares }: Mailbox) -> Self {
        let amount = |(sender, frames, bytes)| (sender, Amount { frames, bytes });
        Self { state, shares: shares.into_iter().map(amount).collect() }
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
    /// Devices that need not be read again, as no other process writes.
    pub(crate) cache: &'t HashMap<PeerId, Device>,
    /// Devices that an earlier run of the transaction has read. They are read together, so that
    /// transactions of several processes lock them in one order.
    pub(crate) needed: &'t mut BTreeSet<PeerId>,
    /// Positions of the last gaps that were reported to the nodes since the hub started.
    pub(crate) told: &'t mut HashMap<PeerId, u64>,
    /// Bytes that wait in all mailboxes, by the identities of the senders, before the transaction.
    pub(crate) totals: &'t HashMap<[u8; 32], u64>,
    pub(crate) limits: &'t HubLimits,
    /// Limits of single persons, by their identities.
    pub(crate) quotas: &'t HashMap<[u8; 32], Quota>,
    /// Bytes of the database that frames may still take up.
    pub(crate) room: u64,
    /// True if the database had no space for the last frames.
    pub(crate) was_full: bool,
    /// Microseconds since 1970.
    pub(crate) now: u64,
}

/// A transaction with the devices that it has read and changed so far. The caller adopts them after
/// the commit.
pub(crate) struct Rules<'t> {
    context: Context<'t>,
    /// Devices as they were before the transaction. `None` for a peer that is unknown.
    loaded: HashMap<PeerId, Option<Device>>,
    changed: BTreeMap<PeerId, Device>,
    /// Groups that the commands name, as they are now.
    groups: BTreeMap<GroupId, Group>,
    /// Sums over the groups of persons, as they are now. They were asked for before.
    group_totals: BTreeMap<[u8; 32], GroupTotals>,
    /// Changes of frames and bytes that wait, by mailbox and by identity of the sender.
    shares: BTreeMap<(DeviceRow, [u8; 32]), (i64, i64)>,
    stored: Amount,
    deletions: Vec<Deletion>,
    added: HashMap<[u8; 32], i64>,
    /// Refusals that end exchanges, by the addresses of their `Put::stopped`.
    stops: HashMap<usize, (Arc<OnceLock<Code>>, Code)>,
    transaction: &'t mut dyn HubTransaction,
}

/// The changes that a transaction made.
pub(crate) struct Changes {
    /// The devices that were read, as they were before.
    pub(crate) loaded: HashMap<PeerId, Option<Device>>,
    /// The devices that were changed, as they are now.
    pub(crate) devices: BTreeMap<PeerId, Device>,
    /// The frames that were stored. A frame counts once, however many mailboxes it went to.
    pub(crate) stored: Amount,
    /// Frames that are to be deleted in later transactions.
    pub(crate) deletions: Vec<Deletion>,
    /// Change of the bytes that wait, by the identities of the senders.
    pub(crate) added: HashMap<[u8; 32], i64>,
    /// Exchanges that a refusal has ended.
    pub(crate) stops: Vec<(Arc<OnceLock<Code>>, Code)>,
}

impl<'t> Rules<'t> {
    /// Begins with the devices and persons that these commands and planned deletions name, and
    /// locks them and the frames that they delete.
    ///
    /// # Errors
    /// [`StorageError`] if they cannot be read.
    pub(crate) fn new(
        context: Context<'t>,
        transaction: &'t mut dyn HubTransaction,
        commands: &[Command],
        deletions: &[Deletion],
    ) -> Result<Self, StorageError> {
        let mut rules = Self {
            context,
            loaded: HashMap::new(),
            changed: BTreeMap::new(),
            groups: BTreeMap::new(),
            group_totals: BTreeMap::new(),
            shares: BTreeMap::new(),
            stored: Amount::default(),
            deletions: Vec::new(),
            added: HashMap::new(),
            stops: HashMap::new(),
            transaction,
        };
        let mut identities: Vec<_> = commands.iter().filter_map(changed_person).collect();
        identities.sort_unstable();
        identities.dedup();
        if !identities.is_empty() {
            rules.transaction.lock_persons(&identities)?;
        }
        // Groups are locked before devices, in one order.
        let mut groups: Vec<_> = commands.iter().filter_map(group_of).collect();
        groups.sort_unstable();
        groups.dedup();
        let mut peers: Vec<_> = rules.context.needed.iter().copied().collect();
        if !groups.is_empty() {
            peers.extend(rules.load_groups(&groups)?);
        }
        commands.iter().for_each(|command| add_peers(command, &mut peers));
        peers.extend(deletions.iter().map(|it| it.peer));
        rules.load(peers)?;
        rules.lock_messages(commands, deletions)?;
        Ok(rules)
    }

    /// Locks the messages that these commands and deletions delete from mailboxes.
    fn lock_messages(
        &mut self,
        commands: &[Command],
        deletions: &[Deletion],
    ) -> Result<(), StorageError> {
        let acknowledged = commands.iter().filter_map(|command| match command {
            Command::Acknowledge { peer, position, .. } => Some((peer, *position, true)),
            _ => None,
        });
        let planned = deletions.iter().map(|it| (&it.peer, it.up_to, false));
        // A mailbox counts once, however often a device acknowledges.
        let mut mailboxes = BTreeMap::<_, u64>::new();
        for (peer, up_to, is_acknowledged) in acknowledged.chain(planned) {
            let Some(Device { state, .. }) = self.read(peer) else { continue };
            // A position that the mailbox has not reached acknowledges nothing.
            if state.frames > 0 && (up_to <= state.last || !is_acknowledged) {
                let last = mailboxes.entry(state.row).or_default();
                *last = up_to.max(*last);
            }
        }
        self.transaction.lock_messages(&mailboxes.into_iter().collect::<Vec<_>>())
    }

    /// Writes to the database without changing anything. If it was full, the write needs as much
    /// space as a frame.
    pub(crate) fn probe(&mut self) -> Result<(), StorageError> {
        match self.context.was_full {
            true => self.transaction.probe_space(),
            false => self.transaction.probe(),
        }
    }

    /// Notes the time up to which the clock is trusted.
    pub(crate) fn note_time(&mut self, time: u64) -> Result<(), StorageError> {
        self.transaction.note_time(time)
    }

    /// Writes the changed devices to the transaction, and returns all changes.
    pub(crate) fn finish(mut self) -> Result<Changes, StorageError> {
        self.write_groups()?;
        for device in self.changed.values() {
            self.transaction.update_device(&device.state)?;
        }
        let shares = self.shares.into_iter().filter(|(_, change)| *change != (0, 0));
        let shares = shares.map(|((device, sender), (frames, bytes))| ShareChange {
            device,
            sender,
            frames,
            bytes,
        });
        self.transaction.change_shares(&shares.collect::<Vec<_>>())?;
        let Self { loaded, changed: devices, stored, deletions, added, stops, .. } = self;
        let stops = stops.into_values().collect();
        Ok(Changes { loaded, devices, stored, deletions, added, stops })
    }

    /// Reads devices that were not read yet.
    fn load(&mut self, peers: impl IntoIterator<Item = PeerId>) -> Result<(), StorageError> {
        let is_known = |peer: &PeerId| {
            self.changed.contains_key(peer)
                || self.loaded.contains_key(peer)
                || self.context.cache.contains_key(peer)
        };
        let mut missing: Vec<_> = peers.into_iter().filter(|peer| !is_known(peer)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        missing.sort_unstable();
        missing.dedup();
        for mailbox in self.transaction.mailboxes(&missing)? {
            self.loaded.insert(mailbox.state.peer, Some(Device::from(mailbox)));
        }
        for peer in missing {
            self.loaded.entry(peer).or_default();
            self.context.needed.insert(peer);
        }
        Ok(())
    }

    /// Returns a device. `None` if there is none.
    fn device(&mut self, peer: &PeerId) -> Result<Option<&Device>, StorageError> {
        self.load([*peer])?;
        Ok(self.read(peer))
    }

    /// Returns a device that was read before.
    fn read(&self, peer: &PeerId) -> Option<&Device> {
        let before = || self.loaded.get(peer).and_then(Option::as_ref);
        let changed = self.changed.get(peer).or_else(before);
        changed.or_else(|| self.context.cache.get(peer))
    }

    /// Returns the device of a peer if it may make requests.
    fn registered(&mut self, peer: &PeerId) -> Result<Result<&Device, Code>, StorageError> {
        Ok(match self.device(peer)? {
            None => Err(Code::REGISTERED),
            Some(device) if device.state.is_pending => Err(Code::REGISTERED),
            Some(device) if device.state.is_revoked => Err(Code::REVOKED),
            Some(device) => Ok(device),
        })
    }

    /// Returns a device for changing. `None` if there is none.
    fn change(&mut self, peer: &PeerId) -> Result<Option<&mut Device>, StorageError> {
        if !self.changed.contains_key(peer) {
            let Some(device) = self.device(peer)?.cloned() else { return Ok(None) };
            self.changed.insert(*peer, device);
        }
        Ok(self.changed.get_mut(peer))
    }

    /// Returns the devices that an identity has or had, as the transaction has them now.
    fn devices_of(&mut self, identity: &[u8; 32]) -> Result<Vec<DeviceState>, StorageError> {
        let mut all = self.transaction.devices_of(identity)?;
        for state in &mut all {
            if let Some(device) = self.changed.get(&state.peer) {
                *state = device.state.clone();
            }
        }
        Ok(all)
    }

    /// Returns the bytes of a person's frames that wait in all mailboxes.
    fn total(&self, sender: &[u8; 32]) -> u64 {
        let before = self.context.totals.get(sender).copied().unwrap_or_default();
        before.saturating_add_signed(self.added.get(sender).copied().unwrap_or_default())
    }

    /// Counts frames of a person that were added to a mailbox, or deleted.
    fn count(&mut self, mailbox: DeviceRow, sender: [u8; 32], frames: i64, bytes: i64) {
        let change = self.shares.entry((mailbox, sender)).or_default();
        *change = (change.0 + frames, change.1 + bytes);
        *self.added.entry(sender).or_default() += bytes;
    }

    /// Returns the person record of an identity.
    fn person(&mut self, identity: &[u8; 32]) -> Result<Option<PersonRecord>, StorageError> {
        let Some(record) = self.transaction.person(identity)? else { return Ok(None) };
        let person = PersonRecord::parse(&record);
        person.map(Some).map_err(|_| StorageError::Format("a person record cannot be read"))
    }
}

/// Adds the devices that a command reads for certain.
fn add_peers(command: &Command, peers: &mut Vec<PeerId>) {
    match command {
        Command::Put(put) => {
            peers.push(put.sender);
            peers.extend(&put.targets);
            let commit = put.group.as_ref().and_then(|group| group.commit.as_ref());
            peers.extend(commit.iter().flat_map(|commit| &commit.members));
        }
        Command::Acknowledge { peer, .. }
        | Command::Hello { peer, .. }
        | Command::Publish { peer, .. }
        | Command::Find { by: By::Peer(peer), .. } => peers.push(*peer),
        Command::Register { peer, register, .. } => {
            peers.extend([*peer, register.certificate.keys().peer_id]);
        }
        Command::Take { peer, device, .. } => peers.extend([*peer, *device]),
        Command::Find { by: By::Identity(_), .. }
        | Command::Recover { .. }
        | Command::Expire
        | Command::Reload
        | Command::Totals(_)
        | Command::Probe(_) => {}
    }
}

/// Returns the group of a command.
fn group_of(command: &Command) -> Option<GroupId> {
    match command {
        Command::Put(put) => put.group.as_ref().map(|group| group.id),
        _ => None,
    }
}

/// Returns the identity of the person whose record a command may change.
fn changed_person(command: &Command) -> Option<[u8; 32]> {
    let person = match command {
        Command::Register { register, .. } => &register.person,
        Command::Publish { publication, .. } => publication.person.as_ref()?,
        _ => return None,
    };
    Some(*person.identity().ed25519().as_bytes())
}

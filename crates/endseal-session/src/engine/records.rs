//! Records and group rows in which the store keeps the states of this crate.

use alloc::vec::Vec;
use core::time::Duration;

use endseal_crypto::{ed25519, hash};
use endseal_keyring::device::{Address, DeviceId};
use endseal_store::{GroupRow, ReadTransaction, SessionStatus, WriteTransaction};

use super::changeset::GroupStates;
use super::dropped_session::DroppedSession;
use crate::fields::Fields;
use crate::group::{EpochState, Group, GroupDevice, PAST_EPOCHS};
use crate::{EngineError, SessionTag};

/// Account: long-term keys and prekeys of the ratchets.
pub(super) const ACCOUNT: u32 = 1;
/// Device: certificate and group key.
pub(super) const DEVICE: u32 = 2;
/// Secrets of a key package, by its id.
pub(super) const KEY_PACKAGE: u32 = 3;

/// Dropped sessions, by address (identity, then device). The value is a list of tags (8 bytes),
/// each with the next inbox number at the time of the drop (8).
pub(super) const FORGOTTEN: u32 = 4;

/// Inbox numbers with the time at which they were assigned; see [`prune`](super::prune).
pub(super) const MARKS: u32 = 16;

/// Parked messages that may never open, by conversation name: the time at which they were first
/// seen, in milliseconds since 1970 (8 bytes), and the id of the last one.
pub(super) const PARKED: u32 = 17;

/// Devices with sessions that have an end time, by address. The value is empty.
pub(super) const ENDING: u32 = 5;

/// Key packages with which groups were joined, by id; see [`UsedKeyPackage`].
pub(super) const USED_KEY_PACKAGE: u32 = 7;

/// Key packages with which this device has added others, by id. The value is a time after which the
/// package is invalid, in seconds since 1970.
pub(super) const ADDED_KEY_PACKAGE: u32 = 9;

/// Key packages of a pending commit, by conversation name. The value is the time (8 bytes), then
/// each id with its length (1) before it.
const PENDING_KEY_PACKAGES: u32 = 10;

/// Ratchet tree and conversation of a group, by its id. They change with its epoch alone.
pub(super) const GROUP_TREE: u32 = 11;

/// Present if new sessions of unknown senders are refused. The value is empty.
pub(super) const UNKNOWN_SENDERS_REFUSED: u32 = 8;

/// Writes a device that was just made, for a store that was restored so many times.
pub(super) fn put_device(
    transaction: &WriteTransaction<'_>,
    device: &GroupDevice,
    account: &[u8],
    restorations: u64,
) -> Result<(), EngineError> {
    transaction.put_record(DEVICE, &[], &device.to_bytes())?;
    transaction.put_record(ACCOUNT, &[], account)?;
    transaction.put_record(RESTORATIONS, &[], &restorations.to_le_bytes())?;
    Prekeys { restorations, lost: false }.put(transaction)
}

/// Removes the records that belong to the keys of a device.
pub(super) fn remove_of_device(transaction: &WriteTransaction<'_>) -> Result<(), EngineError> {
    const KINDS: [u32; 8] = [
        KEY_PACKAGE,
        FORGOTTEN,
        ENDING,
        USED_KEY_PACKAGE,
        ADDED_KEY_PACKAGE,
        PENDING_KEY_PACKAGES,
        PARKED,
        GROUP_TREE,
    ];
    for kind in KINDS {
        for (name, _) in transaction.records(kind)? {
            transaction.remove_record(kind, &name)?;
        }
    }
    Ok(())
}

/// Value of [`USED_KEY_PACKAGE`].
pub(super) struct UsedKeyPackage {
    /// End of the key package's lifetime, since 1970.
    pub(super) expiry: Duration,
    /// Digest of the welcome that used the key package.
    pub(super) welcome: [u8; hash::LEN],
}

impl UsedKeyPackage {
    /// Decodes the value; `None` if it is malformed.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (seconds, welcome) = bytes.split_first_chunk()?;
        let expiry = Duration::from_secs(u64::from_le_bytes(*seconds));
        Some(Self { expiry, welcome: welcome.try_into().ok()? })
    }

    /// Encodes the value: the expiry in seconds (8 bytes, little-endian) and the digest.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        [&self.expiry.as_secs().to_le_bytes()[..], &self.welcome].concat()
    }
}

/// Records the key packages of a pending commit.
pub(super) fn put_pending_key_packages(
    transaction: &WriteTransaction<'_>,
    conversation: &[u8],
    ids: &[Vec<u8>],
    until: Duration,
) -> Result<(), EngineError> {
    let mut value = until.as_secs().to_le_bytes().to_vec();
    for id in ids {
        // The longest hash of a cipher suite has 64 bytes.
        value.push(u8::try_from(id.len()).map_err(|_| EngineError::Damaged("key package"))?);
        value.extend_from_slice(id);
    }
    Ok(transaction.put_record(PENDING_KEY_PACKAGES, conversation, &value)?)
}

/// Ends a pending commit. If it was accepted, its key packages are recorded as used.
pub(super) fn decide_key_packages(
    transaction: &WriteTransaction<'_>,
    conversation: &[u8],
    accepted: bool,
) -> Result<(), EngineError> {
    let Some(value) = transaction.record(PENDING_KEY_PACKAGES, conversation)? else {
        return Ok(());
    };
    transaction.remove_record(PENDING_KEY_PACKAGES, conversation)?;
    let damaged = EngineError::Damaged("key packages");
    let Some((until, mut ids)) = value.split_at_checked(8) else { return Err(damaged) };
    while let Some((len, rest)) = ids.split_first().filter(|_| accepted) {
        let Some((id, rest)) = rest.split_at_checked((*len).into()) else { return Err(damaged) };
        transaction.put_record(ADDED_KEY_PACKAGE, id, until)?;
        ids = rest;
    }
    Ok(())
}

/// Keys of a device that has no certificate yet: seed of the group key (32), then the account.
pub(super) const PREPARED: u32 = 19;

/// Restorations of the store when this device was made (8).
pub(super) const RESTORATIONS: u32 = 18;

/// Restoration of the store for which the prekeys were made.
const PREKEYS: u32 = 6;

/// Value of the [`PREKEYS`] record.
pub(super) struct Prekeys {
    /// Number of restorations, as the store counts them.
    pub(super) restorations: u64,
    /// True if the prekeys that were handed out are deleted, and no new ones were published since.
    pub(super) lost: bool,
}

impl Prekeys {
    pub(super) fn of(transaction: &ReadTransaction<'_>) -> Result<Option<Self>, EngineError> {
        let Some(bytes) = transaction.record(PREKEYS, &[])? else { return Ok(None) };
        let (restorations, lost) = match bytes.split_first_chunk() {
            Some((restorations, [lost])) => (restorations, lost),
            _ => return Err(EngineError::Damaged("prekeys")),
        };
        Ok(Some(Self { restorations: u64::from_le_bytes(*restorations), lost: *lost != 0 }))
    }

    pub(super) fn put(&self, transaction: &WriteTransaction<'_>) -> Result<(), EngineError> {
        let mut bytes = [0; 9];
        let (restorations, lost) = bytes.split_at_mut(8);
        restorations.copy_from_slice(&self.restorations.to_le_bytes());
        lost.copy_from_slice(&[u8::from(self.lost)]);
        Ok(transaction.put_record(PREKEYS, &[], &bytes)?)
    }
}

/// Decodes a value of [`FORGOTTEN`]: its sessions, and trailing bytes that are not a session.
pub(super) fn forgotten(value: &[u8]) -> (Vec<DroppedSession>, &[u8]) {
    let (entries, rest) = value.as_chunks::<16>();
    let read = |entry: &[u8; 16]| {
        let mut fields = Fields::new(entry);
        let tag = SessionTag::from_bytes(fields.array()?);
        let number = Some(u64::from_le_bytes(*fields.array()?));
        Some(DroppedSession { tag, number })
    };
    (entries.iter().filter_map(read).collect(), rest)
}

/// Writes the dropped sessions of a device. `next` is the next inbox number.
pub(super) fn put_forgotten(
    transaction: &WriteTransaction<'_>,
    address: &Address,
    dropped: &[DroppedSession],
    next: u64,
) -> Result<(), EngineError> {
    let name = of_address(address);
    if dropped.is_empty() {
        transaction.remove_record(FORGOTTEN, &name)?;
        return Ok(());
    }
    let mut value = Vec::with_capacity(16 * dropped.len());
    for it in dropped {
        value.extend_from_slice(it.tag.as_bytes());
        value.extend_from_slice(&it.number.unwrap_or(next).to_le_bytes());
    }
    Ok(transaction.put_record(FORGOTTEN, &name, &value)?)
}

/// Decodes the address from the name of a record; `None` if it is malformed.
pub(super) fn address_in(name: &[u8]) -> Option<Address> {
    let (identity, device) = name.split_first_chunk()?;
    let identity = ed25519::PublicKey::from_bytes(identity).ok()?;
    let device = DeviceId::new(u32::from_le_bytes(device.try_into().ok()?))?;
    Some(Address { identity, device })
}

/// Returns the name of the records of an address.
pub(super) fn of_address(address: &Address) -> [u8; 36] {
    let mut name = [0; 36];
    let (identity, device) = name.split_at_mut(32);
    identity.copy_from_slice(address.identity.as_bytes());
    device.copy_from_slice(&address.device.number().to_le_bytes());
    name
}

/// Loads the group with this id, and its past epochs; `None` if this device does not know it.
pub(super) fn group(
    transaction: &ReadTransaction<'_>,
    device: &GroupDevice,
    id: &[u8],
) -> Result<Option<(Group, SessionStatus)>, EngineError> {
    let Some(row) = transaction.group(id)? else { return Ok(None) };
    let mut past = Vec::new();
    for epoch in row.epoch.saturating_sub(PAST_EPOCHS)..row.epoch {
        if let Some(state) = transaction.group_epoch(id, epoch)? {
            past.push(EpochState { epoch, state });
        }
    }
    let tree = transaction.record(GROUP_TREE, id)?.ok_or(EngineError::Damaged("group"))?;
    let group = device.load(&row.state, &tree, past);
    let group = group.map_err(|_| EngineError::Damaged("group"))?;
    Ok(Some((group, row.status)))
}

/// Writes the changes of a group.
pub(super) fn put_group(
    transaction: &WriteTransaction<'_>,
    states: &GroupStates,
) -> Result<(), EngineError> {
    let GroupStates { id, epoch, status, changes } = states;
    let row = GroupRow { status: *status, epoch: *epoch, state: changes.state.clone() };
    transaction.put_group(id, &row)?;
    if let Some(tree) = &changes.tree {
        transaction.put_record(GROUP_TREE, id, tree)?;
    }
    for past in changes.epoch_inserts.iter().chain(&changes.epoch_updates) {
        transaction.put_group_epoch(id, past.epoch, &past.state)?;
    }
    transaction.trim_group_epochs(id, changes.trim_below)?;
    Ok(())
}

//! Encoding of group changes in the inbox (docs/spec/session.md, "Notices").

use alloc::vec::Vec;

use endseal_crypto::ed25519;
use endseal_keyring::device::{Address, DeviceId};

use crate::fields::Fields;
use crate::group::{Change, Evidence, Proposed};

const CHANGE: u8 = 1;
const PROPOSED_ADD: u8 = 2;
const PROPOSED_REMOVE: u8 = 3;
const PROPOSED_UPDATE: u8 = 4;
const CHANGE_SUPERSEDED: u8 = 5;
const CHANGE_EVIDENCE: u8 = 6;

/// Group change that a member has committed or proposes, read from the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A commit was applied, and a new epoch has started.
    #[non_exhaustive]
    Changed {
        /// Number of the new epoch.
        epoch: u64,
        /// True if this device is no longer in the group.
        is_removed: bool,
        /// Members that were added.
        added: Vec<Address>,
        /// Members that were removed.
        removed: Vec<Address>,
        /// The members in `added` with a certificate that is superseded by one that this device has
        /// seen. The application SHOULD have them removed.
        superseded: Vec<Address>,
        /// Signed documents from which the new state of a conversation follows; `None` if the
        /// commit did not change it.
        evidence: Option<Box<Evidence>>,
    },
    /// Proposal to add this device.
    Add(Address),
    /// Proposal to remove this device.
    Remove(Address),
    /// Proposal to replace the proposer's keys.
    Update,
}

impl Notice {
    /// Decodes the plaintext of a message of kind [`Change`](crate::ReceivedKind::Change) or
    /// [`Proposal`](crate::ReceivedKind::Proposal); `None` if it is malformed.
    #[must_use]
    pub fn parse(plaintext: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(plaintext);
        let notice = match fields.byte()? {
            kind @ (CHANGE | CHANGE_SUPERSEDED | CHANGE_EVIDENCE) => {
                let epoch = u64::from_le_bytes(*fields.array()?);
                let is_removed = match fields.byte()? {
                    0 => false,
                    1 => true,
                    _ => return None,
                };
                let (added, removed) = (addresses(&mut fields)?, addresses(&mut fields)?);
                let evidence = match kind {
                    CHANGE_EVIDENCE => {
                        let length = usize::try_from(u32::from_le_bytes(*fields.array()?)).ok()?;
                        let evidence = Evidence::from_bytes(fields.slice(length)?).ok()?;
                        Some(Box::new(evidence))
                    }
                    _ => None,
                };
                let has_superseded = match kind {
                    CHANGE_EVIDENCE => !fields.rest().is_empty(),
                    kind => kind == CHANGE_SUPERSEDED,
                };
                let superseded = if has_superseded { addresses(&mut fields)? } else { Vec::new() };
                if superseded.is_empty() == has_superseded {
                    return None;
                }
                Self::Changed { epoch, is_removed, added, removed, superseded, evidence }
            }
            PROPOSED_ADD => Self::Add(address(&mut fields)?),
            PROPOSED_REMOVE => Self::Remove(address(&mut fields)?),
            PROPOSED_UPDATE => Self::Update,
            _ => return None,
        };
        fields.rest().is_empty().then_some(notice)
    }
}

pub(super) fn change(change: &Change) -> Vec<u8> {
    let mut out = Vec::with_capacity(18 + 36 * (change.added.len() + change.removed.len()));
    out.push(CHANGE);
    out.extend_from_slice(&change.epoch.to_le_bytes());
    out.push(u8::from(change.is_removed));
    put_all(&mut out, &change.added);
    put_all(&mut out, &change.removed);
    // It came in a commit, and is encoded as it came.
    if let Some(evidence) = change.evidence.as_ref().and_then(|it| it.to_bytes().ok()) {
        if let Some(first) = out.first_mut() {
            *first = CHANGE_EVIDENCE;
        }
        let length = u32::try_from(evidence.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&evidence);
    }
    out
}

/// Adds the members with superseded certificates to the notice of a change.
pub(super) fn name_superseded(notice: &mut Vec<u8>, superseded: &[Address]) {
    if let (Some(first), false) = (notice.first_mut(), superseded.is_empty()) {
        if *first == CHANGE {
            *first = CHANGE_SUPERSEDED;
        }
        put_all(notice, superseded);
    }
}

pub(super) fn proposal(proposed: &Proposed) -> Vec<u8> {
    let mut out = Vec::with_capacity(37);
    match proposed {
        Proposed::Add { member, .. } => {
            out.push(PROPOSED_ADD);
            put(&mut out, member);
        }
        Proposed::Remove { member, .. } => {
            out.push(PROPOSED_REMOVE);
            put(&mut out, member);
        }
        Proposed::Update { .. } => out.push(PROPOSED_UPDATE),
    }
    out
}

/// Returns the member that made a proposal.
pub(super) fn proposer(proposed: &Proposed) -> Address {
    match proposed {
        Proposed::Add { by, .. } | Proposed::Remove { by, .. } | Proposed::Update { by } => *by,
    }
}

fn put_all(out: &mut Vec<u8>, list: &[Address]) {
    // A group has fewer than 2^32 leaves.
    let count = u32::try_from(list.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&count.to_le_bytes());
    list.iter().for_each(|it| put(out, it));
}

fn put(out: &mut Vec<u8>, address: &Address) {
    out.extend_from_slice(address.identity.as_bytes());
    out.extend_from_slice(&address.device.number().to_le_bytes());
}

fn addresses(fields: &mut Fields<'_>) -> Option<Vec<Address>> {
    let count = u32::from_le_bytes(*fields.array()?);
    (0..count).map(|_| address(fields)).collect()
}

fn address(fields: &mut Fields<'_>) -> Option<Address> {
    let identity = ed25519::PublicKey::from_bytes(fields.array()?).ok()?;
    let device = DeviceId::new(u32::from_le_bytes(*fields.array()?))?;
    Some(Address { identity, device })
}

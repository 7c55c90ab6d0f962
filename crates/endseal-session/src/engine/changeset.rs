//! States that a transaction writes once each, however many messages changed them.

use alloc::vec::Vec;

use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::Address;
use endseal_store::{SessionRow, SessionStatus};

use super::dropped_session::DroppedSession;
use crate::group::GroupChanges;

/// Changes since the last transaction.
#[derive(Default)]
pub(super) struct Changeset {
    /// Encoded account, with the prekeys and long-term keys of this device.
    pub(super) account: Option<Zeroizing<Vec<u8>>>,
    pub(super) certificates: Vec<(Address, Vec<u8>)>,
    pub(super) dropped: Vec<(Address, [u8; 8])>,
    /// For each device, all its dropped sessions whose tags are kept.
    pub(super) forgotten: Vec<(Address, Vec<DroppedSession>)>,
    /// Devices with sessions that received an end time.
    pub(super) ending: Vec<Address>,
    pub(super) sessions: Vec<(Address, SessionRow)>,
    pub(super) groups: Vec<GroupStates>,
    /// Name and new position of the delivery queue.
    pub(super) cursor: Option<(Vec<u8>, Vec<u8>)>,
}

/// Changes of one group since the last transaction.
pub(super) struct GroupStates {
    pub(super) id: Vec<u8>,
    pub(super) epoch: u64,
    pub(super) status: SessionStatus,
    pub(super) changes: GroupChanges,
}

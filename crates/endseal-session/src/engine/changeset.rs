//! States that a transaction writes, once each, however many messages changed them.

use alloc::vec::Vec;

use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::Address;
use endseal_store::{SessionRow, SessionStatus};

use super::dropped_session::DroppedSession;
use crate::group::GroupChanges;

/// Changes since the last transaction.
#[derive(Default)]
pub(super) struct Changeset {
    /// Prekeys and long-term keys of this device.
    pub(super) account: Option<Zeroizing<Vec<u8>>>,
    pub(super) certificates: Vec<(Address, Vec<u8>)>,
    pub(super) dropped: Vec<(Address, [u8; 8])>,
    /// All sessions with a device that were dropped and are not forgotten.
    pub(super) forgotten: Vec<(Address, Vec<DroppedSession>)>,
    /// Devices with sessions that were given an end.
    pub(super) ending: Vec<Address>,
    pub(super) sessions: Vec<(Address, SessionRow)>,
    pub(super) groups: Vec<GroupStates>,
    /// Where the queue stands.
    pub(super) cursor: Option<(Vec<u8>, Vec<u8>)>,
}

/// Changes of one group.
pub(super) struct GroupStates {
    pub(super) id: Vec<u8>,
    pub(super) epoch: u64,
    pub(super) standing: SessionStatus,
    pub(super) changes: GroupChanges,
}

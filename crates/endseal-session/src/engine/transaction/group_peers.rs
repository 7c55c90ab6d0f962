//! Peer ids of the members of a group, by which a hub knows them.

use alloc::vec::Vec;

use endseal_crypto::peer_id::PeerId;
use endseal_keyring::device::{Address, Certificate};

use super::EngineTransaction;
use super::groups::membership;
use crate::{EngineError, GroupChangeError, PairwiseAccount};

impl<A: PairwiseAccount> EngineTransaction<'_, '_, A> {
    /// Returns the epoch of a group in which this device can send; `None` if it knows no such
    /// group, or was removed from it.
    ///
    /// # Errors
    /// [`EngineError`] if the state cannot be decoded or the store fails.
    pub fn group_epoch(&mut self, id: &[u8]) -> Result<Option<u64>, EngineError> {
        match membership(&mut self.store_session, self.state_cache, id) {
            Ok(membership) => {
                let group = membership.group().filter(|group| group.is_member());
                Ok(group.map(crate::group::Group::epoch))
            }
            Err(GroupChangeError::Engine(error)) => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Returns the members of a group with their peer ids, this device included; none if this
    /// device does not know the group.
    ///
    /// # Errors
    /// [`EngineError`] if the state cannot be decoded or the store fails.
    pub fn group_peers(&mut self, id: &[u8]) -> Result<Vec<(Address, PeerId)>, EngineError> {
        let certificates = match membership(&mut self.store_session, self.state_cache, id) {
            Ok(membership) => match membership.group() {
                Some(group) => group.certificates().map_err(|_| EngineError::Damaged("group"))?,
                None => Vec::new(),
            },
            Err(GroupChangeError::Engine(error)) => return Err(error),
            Err(_) => Vec::new(),
        };
        let peer = |(address, certificate)| Some((address, Certificate::peer_id_in(&certificate)?));
        Ok(certificates.into_iter().filter_map(peer).collect())
    }
}

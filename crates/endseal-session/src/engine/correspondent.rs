//! Remote devices that this device knows.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use endseal_crypto::peer_id::PeerId;
use endseal_keyring::device::{Address, Certificate};
use endseal_store::{ReadTransaction, SessionStatus};

use super::references::address_of;
use crate::EngineError;

/// A remote device that this device knows, with the number of its sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Correspondent {
    /// Address of the device.
    pub address: Address,
    /// Peer id in the latest certificate that was seen; `None` if there is no readable one.
    pub peer_id: Option<PeerId>,
    /// Number of sessions that may send.
    pub sending: usize,
    /// Number of sessions that only receive.
    pub receiving: usize,
    /// Number of sessions that only receive until they are reset.
    pub awaiting_reset: usize,
}

pub(super) fn all(transaction: &ReadTransaction<'_>) -> Result<Vec<Correspondent>, EngineError> {
    let mut known = BTreeMap::new();
    for (reference, row) in transaction.addresses()? {
        let address = address_of(transaction, reference)?;
        let certificate = row.certificate.and_then(|it| Certificate::from_bytes(&it).ok());
        known.insert(
            reference,
            Correspondent {
                address,
                peer_id: certificate.map(|it| it.keys().peer_id),
                sending: 0,
                receiving: 0,
                awaiting_reset: 0,
            },
        );
    }
    for session in transaction.sessions()? {
        let entry = known.get_mut(&session.address).ok_or(EngineError::Damaged("address"))?;
        match session.status {
            SessionStatus::Active => entry.sending += 1,
            SessionStatus::ReceiveOnly => entry.receiving += 1,
            _ => entry.awaiting_reset += 1,
        }
    }
    let mut list: Vec<_> = known.into_values().collect();
    list.sort_unstable_by_key(|it| it.address);
    Ok(list)
}

//! This device: its certificate and its key in groups.

use endseal_keyring::device::Certificate;
use endseal_store::ReadTransaction;

use super::body_digest::Recognizer;
use super::records;
use crate::EngineError;
use crate::group::GroupDevice;

/// State of this device that does not change while the engine is open.
pub(super) struct Device {
    pub(super) certificate: Certificate,
    pub(super) groups: GroupDevice,
    pub(super) recognizer: Recognizer,
}

impl Device {
    /// Reads the device from the store.
    pub(super) fn load(transaction: &ReadTransaction<'_>) -> Result<Self, EngineError> {
        let bytes = transaction.record(records::DEVICE, &[])?.ok_or(EngineError::NoDevice)?;
        let groups = GroupDevice::from_bytes(&bytes).map_err(|_| EngineError::Damaged("device"))?;
        let recognizer = Recognizer::new(groups.key());
        Ok(Self { certificate: groups.certificate().clone(), groups, recognizer })
    }
}

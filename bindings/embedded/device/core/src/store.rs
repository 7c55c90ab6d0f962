//! The state in two sectors of flash, of which one is always whole.

use embedded_storage::nor_flash::NorFlash;
use endseal_crypto::secp256k1::SecretKey;

use crate::record::{Confirmation, Record, is_equal, page};

/// Bytes of a sector: what the flash chip of every board erases at once.
pub const SECTOR: u32 = 4_096;
/// Bytes of the flash that the store takes.
pub const STORE_LEN: u32 = 2 * SECTOR;

/// Cause why a change is not in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotWritten;

/// The state of the device, in memory and in flash.
pub(crate) struct Store<F> {
    flash: F,
    /// Offset of the store in `flash`.
    start: u32,
    /// Sector with the record in force: 0 or 1.
    sector: u32,
    state: Record,
}

impl<F: NorFlash> Store<F> {
    /// Loads the state. A device without a valid record is new. An erasure that was cut off is
    /// completed.
    pub(crate) fn load(flash: F, start: u32) -> Self {
        let new = Record { sequence: 0, confirmation: Confirmation::All, key: None };
        let mut store = Self { flash, start, sector: 1, state: new };
        for sector in 0..2 {
            let mut bytes = page();
            if store.flash.read(store.offset(sector), &mut *bytes).is_ok()
                && let Ok(record) = Record::read(&bytes)
                && record.sequence > store.state.sequence
            {
                store.state = record;
                store.sector = sector;
            }
        }
        if store.state.sequence > 0 && store.state.key.is_none() {
            // If it fails, the next start tries again.
            let _ = store.erase_other();
        }
        store
    }

    pub(crate) const fn state(&self) -> &Record {
        &self.state
    }

    /// Changes the setting.
    pub(crate) fn set_confirmation(
        &mut self,
        confirmation: Confirmation,
    ) -> Result<(), NotWritten> {
        let bytes = self.state.key.as_ref().map(SecretKey::expose_secret);
        let key = bytes.and_then(|bytes| SecretKey::from_bytes(bytes).ok());
        self.write(confirmation, key)
    }

    /// Sets the key of a device that has none.
    pub(crate) fn set_key(&mut self, key: SecretKey) -> Result<(), NotWritten> {
        self.write(self.state.confirmation, Some(key))
    }

    /// Erases the key in both sectors.
    pub(crate) fn erase_key(&mut self) -> Result<(), NotWritten> {
        self.write(self.state.confirmation, None)?;
        self.erase_other()
    }

    /// Writes the next record to the sector that is not in force, and reads it back.
    fn write(
        &mut self,
        confirmation: Confirmation,
        key: Option<SecretKey>,
    ) -> Result<(), NotWritten> {
        let sequence = self.state.sequence.checked_add(1).ok_or(NotWritten)?;
        let record = Record { sequence, confirmation, key };
        let (sector, mut bytes, mut read) = (1 - self.sector, page(), page());
        record.write(&mut bytes);
        let at = self.offset(sector);
        self.flash.erase(at, at + SECTOR).map_err(|_| NotWritten)?;
        self.flash.write(at, &*bytes).map_err(|_| NotWritten)?;
        self.flash.read(at, &mut *read).map_err(|_| NotWritten)?;
        if !is_equal(&bytes, &read) {
            // What can be read of it must not be in force after a restart either.
            let _ = self.flash.erase(at, at + SECTOR);
            return Err(NotWritten);
        }
        self.state = record;
        self.sector = sector;
        Ok(())
    }

    /// Erases the sector that is not in force, unless its record is empty.
    fn erase_other(&mut self) -> Result<(), NotWritten> {
        let (at, mut bytes) = (self.offset(1 - self.sector), page());
        let read = self.flash.read(at, &mut *bytes);
        if read.is_ok() && bytes.iter().all(|byte| *byte == 0xff) {
            return Ok(());
        }
        self.flash.erase(at, at + SECTOR).map_err(|_| NotWritten)
    }

    const fn offset(&self, sector: u32) -> u32 {
        self.start + sector * SECTOR
    }
}

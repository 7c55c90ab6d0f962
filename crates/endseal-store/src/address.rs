//! Identities with their devices, and short references to them.

use rusqlite::{OptionalExtension as _, Row};

use crate::error::StoreError;
use crate::store::transaction::{ReadTransaction, WriteTransaction};
use crate::{limits, rows};

/// A reference to an address, of one store: rows of messages carry it instead of 36 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressRef(pub(crate) i64);

/// Stored facts about an address: its identity, device and certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AddressRow {
    /// The Ed25519 key of the identity.
    pub identity: [u8; 32],
    /// Number of the device among those of the identity.
    pub device: u32,
    /// The device's certificate as it was seen last.
    pub certificate: Option<Vec<u8>>,
}

impl ReadTransaction<'_> {
    /// The reference to an address, if there is one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn find_address(
        &self,
        identity: &[u8; 32],
        device: u32,
    ) -> Result<Option<AddressRef>, StoreError> {
        let mut select =
            self.statement("SELECT ref FROM address WHERE identity = ?1 AND device = ?2")?;
        let found = select.query_row((identity, device), |row| row.get(0).map(AddressRef));
        Ok(found.optional()?)
    }

    /// Returns true if any device of an identity has a reference.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn knows_identity(&self, identity: &[u8; 32]) -> Result<bool, StoreError> {
        let mut select = self.statement("SELECT 1 FROM address WHERE identity = ?1 LIMIT 1")?;
        Ok(select.exists([identity])?)
    }

    /// Returns the facts about an address; `None` if there is none of this reference.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn address(&self, address: AddressRef) -> Result<Option<AddressRow>, StoreError> {
        let mut select = self
            .statement("SELECT ref, identity, device, certificate FROM address WHERE ref = ?1")?;
        Ok(select.query_row([address.0], read).optional()?.map(|(_, row)| row))
    }

    /// All addresses, in the order in which they were met.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn addresses(&self) -> Result<Vec<(AddressRef, AddressRow)>, StoreError> {
        let mut select =
            self.statement("SELECT ref, identity, device, certificate FROM address ORDER BY ref")?;
        Ok(select.query_map([], read)?.collect::<Result<_, _>>()?)
    }
}

impl WriteTransaction<'_> {
    /// The reference to an address, which is made if there is none.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn address_ref(&self, identity: &[u8; 32], device: u32) -> Result<AddressRef, StoreError> {
        if let Some(address) = self.find_address(identity, device)? {
            return Ok(address);
        }
        let mut insert =
            self.statement("INSERT INTO address (identity, device) VALUES (?1, ?2)")?;
        Ok(AddressRef(insert.insert((identity, device))?))
    }

    /// Keeps the certificate of a device.
    ///
    /// # Errors
    /// [`StoreError::Reference`] if there is no such address.
    pub fn set_certificate(
        &self,
        address: AddressRef,
        certificate: &[u8],
    ) -> Result<(), StoreError> {
        limits::state(certificate)?;
        let mut update = self.statement("UPDATE address SET certificate = ?2 WHERE ref = ?1")?;
        one(update.execute((address.0, certificate))?)
    }

    /// Forgets the certificate of a device.
    ///
    /// # Errors
    /// [`StoreError::Reference`] if there is no such address.
    pub fn remove_certificate(&self, address: AddressRef) -> Result<(), StoreError> {
        let mut update = self.statement("UPDATE address SET certificate = NULL WHERE ref = ?1")?;
        one(update.execute([address.0])?)
    }
}

/// The change of a row that has to be there.
pub(crate) fn one(rows: usize) -> Result<(), StoreError> {
    if rows == 1 { Ok(()) } else { Err(StoreError::Reference) }
}

pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<(AddressRef, AddressRow)> {
    let certificate = match row.get_ref(3)? {
        rusqlite::types::ValueRef::Null => None,
        _ => Some(rows::bytes(row, 3)?),
    };
    let address =
        AddressRow { identity: rows::array(row, 1)?, device: rows::number(row, 2)?, certificate };
    Ok((AddressRef(row.get(0)?), address))
}

//! Columns of rows: of the right type and in range, or the store is damaged.

use endseal_crypto::secret::Zeroizing;
use rusqlite::types::ValueRef;
use rusqlite::{Error, Row, types::Type};

pub(crate) fn blob<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r [u8], Error> {
    match row.get_ref(column)? {
        ValueRef::Blob(bytes) => Ok(bytes),
        other => Err(mistyped(column, other.data_type())),
    }
}

pub(crate) fn bytes(row: &Row<'_>, column: usize) -> Result<Vec<u8>, Error> {
    blob(row, column).map(<[u8]>::to_vec)
}

pub(crate) fn secret(row: &Row<'_>, column: usize) -> Result<Zeroizing<Vec<u8>>, Error> {
    bytes(row, column).map(Zeroizing::new)
}

pub(crate) fn array<const N: usize>(row: &Row<'_>, column: usize) -> Result<[u8; N], Error> {
    blob(row, column)?.try_into().map_err(|_| mistyped(column, Type::Blob))
}

/// An integer that fits its own type.
pub(crate) fn number<T: TryFrom<i64>>(row: &Row<'_>, column: usize) -> Result<T, Error> {
    match row.get_ref(column)? {
        ValueRef::Integer(value) => {
            T::try_from(value).map_err(|_| Error::IntegralValueOutOfRange(column, value))
        }
        other => Err(mistyped(column, other.data_type())),
    }
}

pub(crate) fn mistyped(column: usize, is: Type) -> Error {
    Error::InvalidColumnType(column, String::new(), is)
}

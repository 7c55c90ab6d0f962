//! Records of type, length and value within an entity.

use super::EntityError;
use crate::relays::{self, RELAY, Relays, is_relay};

/// The public key, the event id or the identifier.
pub(super) const SPECIAL: u8 = 0;
/// Public key of the author.
pub(super) const AUTHOR: u8 = 2;
/// Kind, 32 bits in big-endian order.
pub(super) const KIND: u8 = 3;

/// Records that were checked: none is cut, none of the known ones occurs twice, relays are visible
/// ASCII. Those of unknown types are ignored (NIP-19).
pub(super) struct CheckedRecords<'a> {
    data: &'a [u8],
    /// By type: special, author, kind.
    single: [Option<&'a [u8]>; 4],
}

impl<'a> CheckedRecords<'a> {
    /// Reads the types of `known` and relays.
    pub(super) fn read(data: &'a [u8], known: &[u8]) -> Result<Self, EntityError> {
        let mut records = Self { data, single: [None; 4] };
        let mut iter = relays::Records(data);
        for (kind, value) in iter.by_ref() {
            if kind == RELAY && !is_relay(value) {
                return Err(EntityError::Text);
            }
            if known.contains(&kind)
                && let Some(single) = records.single.get_mut(usize::from(kind))
                && single.replace(value).is_some()
            {
                return Err(EntityError::Duplicate);
            }
        }
        if iter.0.is_empty() { Ok(records) } else { Err(EntityError::Truncated) }
    }

    fn single(&self, kind: u8) -> Option<&'a [u8]> {
        self.single[usize::from(kind)]
    }

    pub(super) fn special(&self) -> Result<&'a [u8], EntityError> {
        self.single(SPECIAL).ok_or(EntityError::Missing)
    }

    pub(super) fn author(&self) -> Option<&'a [u8]> {
        self.single(AUTHOR)
    }

    pub(super) fn kind(&self) -> Result<Option<u16>, EntityError> {
        let Some(kind) = self.single(KIND) else { return Ok(None) };
        let kind = kind.try_into().map_err(|_| EntityError::Length)?;
        u16::try_from(u32::from_be_bytes(kind)).map(Some).map_err(|_| EntityError::Kind)
    }

    pub(super) fn relays(&self) -> Relays<'a> {
        Relays::from_records(self.data)
    }
}

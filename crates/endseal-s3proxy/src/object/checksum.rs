//! The checksum of the content that a client gave, as a record keeps it.

use crate::checksum::{ChecksumKind, ChecksumValue};

/// Bytes that every checksum has room in.
pub(super) const FIELD_LEN: usize = 32;

/// The checksum, if the field has room for its kind.
pub(super) fn kept(checksum: Option<ChecksumValue>) -> Option<ChecksumValue> {
    checksum.filter(|checksum| kind_to_byte(checksum.kind()).is_some())
}

/// `checksum kind (1) || checksum (32)`. A checksum that is not [`kept`] is none.
pub(super) fn encode(checksum: Option<&ChecksumValue>) -> (u8, [u8; FIELD_LEN]) {
    let mut field = [0; FIELD_LEN];
    let kind = checksum.and_then(|checksum| kind_to_byte(checksum.kind()));
    let (Some(checksum), Some(kind)) = (checksum, kind) else { return (0, field) };
    let value = checksum.as_bytes();
    field[..value.len()].copy_from_slice(value);
    (kind, field)
}

/// `None` if the kind is unknown or a byte behind the checksum is not zero.
pub(super) fn decode(kind: u8, field: &[u8; FIELD_LEN]) -> Option<Option<ChecksumValue>> {
    let known = kind_from_byte(kind);
    if known.is_none() && kind != 0 {
        return None;
    }
    let (value, rest) = field.split_at(known.map_or(0, ChecksumKind::len));
    if rest.iter().any(|byte| *byte != 0) {
        return None;
    }
    Some(known.and_then(|kind| ChecksumValue::from_bytes(kind, value)))
}

/// None if the field has no room for it.
const fn kind_to_byte(kind: ChecksumKind) -> Option<u8> {
    match kind {
        ChecksumKind::Crc32 => Some(1),
        ChecksumKind::Crc32c => Some(2),
        ChecksumKind::Crc64Nvme => Some(3),
        ChecksumKind::Sha1 => Some(4),
        ChecksumKind::Sha256 => Some(5),
        ChecksumKind::Sha512 => None,
    }
}

fn kind_from_byte(byte: u8) -> Option<ChecksumKind> {
    ChecksumKind::ALL.into_iter().find(|kind| kind_to_byte(*kind) == Some(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_without_room_is_none() {
        let sha512 = ChecksumValue::from_bytes(ChecksumKind::Sha512, &[7; 64]);
        assert_eq!(encode(sha512.as_ref()), (0, [0; FIELD_LEN]));
        assert_eq!(kept(sha512), None);
        let sha256 = ChecksumValue::from_bytes(ChecksumKind::Sha256, &[7; 32]);
        assert_eq!(kept(sha256), sha256);
    }

    #[test]
    fn only_known_kinds_with_zeros_behind_them_are_read() {
        for kind in 0..=255 {
            for used in 0..=FIELD_LEN {
                let mut field = [0; FIELD_LEN];
                field[..used].fill(7);
                let read = decode(kind, &field);
                let len = [0, 4, 4, 8, 20, 32].get(usize::from(kind)).copied();
                assert_eq!(read.is_some(), len.is_some_and(|len| used <= len), "{kind} {used}");
                if let Some(checksum) = read {
                    assert_eq!(encode(checksum.as_ref()), (kind, field));
                }
            }
        }
    }
}

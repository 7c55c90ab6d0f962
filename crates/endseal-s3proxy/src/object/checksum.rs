//! The checksum of the content that a client gave, as a record keeps it.

use crate::checksum::{ChecksumKind, ChecksumValue};

/// Bytes that every checksum has room in.
pub(super) const FIELD_LEN: usize = 32;

/// `checksum kind (1) || checksum (32)`.
pub(super) fn encode(checksum: Option<&ChecksumValue>) -> (u8, [u8; FIELD_LEN]) {
    let mut field = [0; FIELD_LEN];
    let Some(checksum) = checksum else { return (0, field) };
    let value = checksum.as_bytes();
    field[..value.len()].copy_from_slice(value);
    (kind_to_byte(checksum.kind()), field)
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

const fn kind_to_byte(kind: ChecksumKind) -> u8 {
    match kind {
        ChecksumKind::Crc32 => 1,
        ChecksumKind::Crc32c => 2,
        ChecksumKind::Crc64Nvme => 3,
        ChecksumKind::Sha1 => 4,
        ChecksumKind::Sha256 => 5,
    }
}

fn kind_from_byte(byte: u8) -> Option<ChecksumKind> {
    ChecksumKind::ALL.into_iter().find(|kind| kind_to_byte(*kind) == byte)
}

#[cfg(test)]
mod tests {
    use super::*;

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

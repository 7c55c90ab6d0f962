//! The checksum of the content that a client gave, as a record keeps it.

/// How a checksum was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "version 1 of the format has these")]
pub enum ChecksumKind {
    /// CRC32: 4 bytes.
    Crc32,
    /// CRC32C: 4 bytes.
    Crc32c,
    /// CRC64NVME: 8 bytes.
    Crc64Nvme,
    /// SHA-1: 20 bytes.
    Sha1,
    /// SHA-256: 32 bytes.
    Sha256,
}

/// Bytes that every checksum has room in.
pub(super) const FIELD_LEN: usize = 32;

impl ChecksumKind {
    /// Length of the checksum in bytes.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "no checksum is empty")]
    pub const fn len(self) -> usize {
        match self {
            Self::Crc32 | Self::Crc32c => 4,
            Self::Crc64Nvme => 8,
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    const fn to_byte(self) -> u8 {
        match self {
            Self::Crc32 => 1,
            Self::Crc32c => 2,
            Self::Crc64Nvme => 3,
            Self::Sha1 => 4,
            Self::Sha256 => 5,
        }
    }

    const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Crc32),
            2 => Some(Self::Crc32c),
            3 => Some(Self::Crc64Nvme),
            4 => Some(Self::Sha1),
            5 => Some(Self::Sha256),
            _ => None,
        }
    }
}

/// A checksum of the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum {
    kind: ChecksumKind,
    /// Zero behind the checksum's own length.
    field: [u8; FIELD_LEN],
}

impl Checksum {
    /// `None` if `value` has not the length of `kind`.
    #[must_use]
    pub fn new(kind: ChecksumKind, value: &[u8]) -> Option<Self> {
        if value.len() != kind.len() {
            return None;
        }
        let mut field = [0; FIELD_LEN];
        field[..value.len()].copy_from_slice(value);
        Some(Self { kind, field })
    }

    /// How it was computed.
    #[must_use]
    pub fn kind(&self) -> ChecksumKind {
        self.kind
    }

    /// The checksum, [`ChecksumKind::len`] bytes.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        &self.field[..self.kind.len()]
    }

    /// `checksum kind (1) || checksum (32)`.
    pub(super) fn encode(checksum: Option<&Self>) -> (u8, [u8; FIELD_LEN]) {
        checksum.map_or((0, [0; FIELD_LEN]), |checksum| (checksum.kind.to_byte(), checksum.field))
    }

    /// `None` if the kind is unknown or a byte behind the checksum is not zero.
    pub(super) fn decode(kind: u8, field: &[u8; FIELD_LEN]) -> Option<Option<Self>> {
        let known = ChecksumKind::from_byte(kind);
        let used = known.map_or(0, ChecksumKind::len);
        if (known.is_none() && kind != 0) || field[used..].iter().any(|byte| *byte != 0) {
            return None;
        }
        Some(known.map(|kind| Self { kind, field: *field }))
    }
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
                let read = Checksum::decode(kind, &field);
                let len = [0, 4, 4, 8, 20, 32].get(usize::from(kind)).copied();
                assert_eq!(read.is_some(), len.is_some_and(|len| used <= len), "{kind} {used}");
                if let Some(checksum) = read {
                    assert_eq!(Checksum::encode(checksum.as_ref()), (kind, field));
                }
            }
        }
    }

    #[test]
    fn a_value_of_another_length_is_no_checksum() {
        let all = [
            ChecksumKind::Crc32,
            ChecksumKind::Crc32c,
            ChecksumKind::Crc64Nvme,
            ChecksumKind::Sha1,
            ChecksumKind::Sha256,
        ];
        for kind in all {
            for len in 0..=33 {
                let value = vec![9; len];
                let checksum = Checksum::new(kind, &value);
                assert_eq!(checksum.is_some(), len == kind.len());
                assert!(checksum.is_none_or(|c| c.value() == value && c.kind() == kind));
            }
        }
    }
}

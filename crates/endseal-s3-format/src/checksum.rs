//! The checksum of the content that a client gave, as a record keeps it.

/// Length in bytes of the record's field, in which every checksum fits.
pub(crate) const FIELD_LEN: usize = 32;

/// Algorithms of the checksums that an object keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "the field has room for no others")]
pub enum ChecksumAlgorithm {
    /// CRC-32, as zip and Ethernet use it.
    Crc32,
    /// CRC-32 with Castagnoli's polynomial (RFC 3720).
    Crc32c,
    /// CRC-64 of the NVMe specification.
    Crc64Nvme,
    /// SHA-1 (FIPS 180-4), 20 bytes.
    Sha1,
    /// SHA-256 (FIPS 180-4), 32 bytes.
    Sha256,
}

impl ChecksumAlgorithm {
    /// All of them, in the order of the specification.
    pub const ALL: [Self; 5] =
        [Self::Crc32, Self::Crc32c, Self::Crc64Nvme, Self::Sha1, Self::Sha256];

    /// Length of a value in bytes.
    #[must_use]
    pub const fn value_len(self) -> usize {
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

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.to_byte() == byte)
    }
}

/// A checksum and its algorithm. Bytes behind the value are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContentChecksum {
    algorithm: ChecksumAlgorithm,
    field: [u8; FIELD_LEN],
}

impl ContentChecksum {
    /// The checksum of that value; `None` if it is not [`ChecksumAlgorithm::value_len`] bytes long.
    #[must_use]
    pub fn new(algorithm: ChecksumAlgorithm, value: &[u8]) -> Option<Self> {
        if value.len() != algorithm.value_len() {
            return None;
        }
        let mut field = [0; FIELD_LEN];
        field[..value.len()].copy_from_slice(value);
        Some(Self { algorithm, field })
    }

    /// The algorithm of the checksum.
    #[must_use]
    pub const fn algorithm(&self) -> ChecksumAlgorithm {
        self.algorithm
    }

    /// The value of the checksum, [`ChecksumAlgorithm::value_len`] bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.field[..self.algorithm.value_len()]
    }
}

/// `checksum kind (1) || checksum (32)`.
pub(crate) fn encode(checksum: Option<&ContentChecksum>) -> (u8, [u8; FIELD_LEN]) {
    checksum.map_or((0, [0; FIELD_LEN]), |it| (it.algorithm.to_byte(), it.field))
}

/// `None` if the kind is unknown or a byte behind the checksum is not zero.
pub(crate) fn decode(kind: u8, field: &[u8; FIELD_LEN]) -> Option<Option<ContentChecksum>> {
    let known = ChecksumAlgorithm::from_byte(kind);
    if known.is_none() && kind != 0 {
        return None;
    }
    let (value, rest) = field.split_at(known.map_or(0, ChecksumAlgorithm::value_len));
    if rest.iter().any(|byte| *byte != 0) {
        return None;
    }
    Some(known.and_then(|algorithm| ContentChecksum::new(algorithm, value)))
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

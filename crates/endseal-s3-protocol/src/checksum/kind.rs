//! The algorithms by their names, and values in base64.

use base64ct::{Base64, Encoding as _};

/// An algorithm that clients can choose (`x-amz-checksum-*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChecksumKind {
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
    /// SHA-512 (FIPS 180-4). It is longer than the field of an object's record, so it is compared
    /// and not kept.
    Sha512,
}

impl ChecksumKind {
    /// All of them, in the order of the object's specification.
    pub const ALL: [Self; 6] =
        [Self::Crc32, Self::Crc32c, Self::Crc64Nvme, Self::Sha1, Self::Sha256, Self::Sha512];

    /// The header or trailer that carries a value: `x-amz-checksum-crc32` …
    #[must_use]
    pub fn header(self) -> &'static str {
        match self {
            Self::Crc32 => "x-amz-checksum-crc32",
            Self::Crc32c => "x-amz-checksum-crc32c",
            Self::Crc64Nvme => "x-amz-checksum-crc64nvme",
            Self::Sha1 => "x-amz-checksum-sha1",
            Self::Sha256 => "x-amz-checksum-sha256",
            Self::Sha512 => "x-amz-checksum-sha512",
        }
    }

    /// The name in `x-amz-checksum-algorithm` and in XML: `CRC32` …
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Crc32 => "CRC32",
            Self::Crc32c => "CRC32C",
            Self::Crc64Nvme => "CRC64NVME",
            Self::Sha1 => "SHA1",
            Self::Sha256 => "SHA256",
            Self::Sha512 => "SHA512",
        }
    }

    /// The element that carries a value in XML: `ChecksumCRC32` …
    #[must_use]
    pub fn element(self) -> &'static str {
        match self {
            Self::Crc32 => "ChecksumCRC32",
            Self::Crc32c => "ChecksumCRC32C",
            Self::Crc64Nvme => "ChecksumCRC64NVME",
            Self::Sha1 => "ChecksumSHA1",
            Self::Sha256 => "ChecksumSHA256",
            Self::Sha512 => "ChecksumSHA512",
        }
    }

    /// Length of a value in bytes.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "the length of values, not of a collection")]
    pub fn len(self) -> usize {
        match self {
            Self::Crc32 | Self::Crc32c => 4,
            Self::Crc64Nvme => 8,
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }

    /// The kind with this [`name`](Self::name), in upper or lower case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }

    /// The kind with this [`header`](Self::header), in upper or lower case.
    #[must_use]
    pub fn from_header(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.header().eq_ignore_ascii_case(name))
    }

    /// The kind with this [`element`](Self::element).
    #[must_use]
    pub fn from_element(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.element() == name)
    }
}

/// Length in bytes of the longest kind.
const MAX_LEN: usize = 64;

/// A checksum and its kind. Bytes behind the kind's length are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChecksumValue {
    kind: ChecksumKind,
    bytes: [u8; MAX_LEN],
}

impl ChecksumValue {
    /// The value with these bytes; `None` if they are not [`ChecksumKind::len`] many.
    #[must_use]
    pub fn from_bytes(kind: ChecksumKind, value: &[u8]) -> Option<Self> {
        if value.len() != kind.len() {
            return None;
        }
        let mut bytes = [0; MAX_LEN];
        bytes[..value.len()].copy_from_slice(value);
        Some(Self { kind, bytes })
    }

    /// The value of a CRC: its low bytes, the most significant first.
    pub(super) fn of_number(kind: ChecksumKind, number: u64) -> Self {
        let all = number.to_be_bytes();
        let mut bytes = [0; MAX_LEN];
        let len = kind.len().min(all.len());
        bytes[..len].copy_from_slice(&all[all.len() - len..]);
        Self { kind, bytes }
    }

    /// The value of a hash, whose length is the kind's.
    pub(super) fn of_array<const N: usize>(kind: ChecksumKind, value: [u8; N]) -> Self {
        const { assert!(N <= MAX_LEN, "no kind is longer") }
        let mut bytes = [0; MAX_LEN];
        bytes[..N].copy_from_slice(&value);
        Self { kind, bytes }
    }

    /// Reads base64 with padding, as in headers; `None` for anything else.
    #[must_use]
    pub fn from_base64(kind: ChecksumKind, text: &str) -> Option<Self> {
        let mut buffer = [0; MAX_LEN + 2];
        let value = Base64::decode(text, &mut buffer).ok()?;
        Self::from_bytes(kind, value)
    }

    /// The algorithm of the checksum.
    #[must_use]
    pub fn kind(&self) -> ChecksumKind {
        self.kind
    }

    /// The value of the checksum, [`ChecksumKind::len`] bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.kind.len()]
    }

    /// The value as headers have it.
    #[must_use]
    pub fn to_base64(&self) -> String {
        Base64::encode_string(self.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_kinds() {
        for kind in ChecksumKind::ALL {
            assert_eq!(ChecksumKind::from_name(&kind.name().to_lowercase()), Some(kind));
            assert_eq!(ChecksumKind::from_header(&kind.header().to_uppercase()), Some(kind));
            assert_eq!(ChecksumKind::from_element(kind.element()), Some(kind));
        }
        assert_eq!(ChecksumKind::from_name("MD5"), None);
        assert_eq!(ChecksumKind::from_header("x-amz-checksum-type"), None);
        assert_eq!(ChecksumKind::from_element("ChecksumType"), None);
    }

    #[test]
    fn base64_is_canonical_or_refused() {
        let value = ChecksumValue::from_base64(ChecksumKind::Crc32c, "sOO8/Q==").unwrap();
        assert_eq!(value.as_bytes(), [0xb0, 0xe3, 0xbc, 0xfd]);
        assert_eq!(value.to_base64(), "sOO8/Q==");
        for wrong in
            ["", "sOO8/Q", "sOO8/R==", "sOO8/Q==\n", " sOO8/Q==", "sOO8/QA=", "AAAAAAAAAAA="]
        {
            assert_eq!(ChecksumValue::from_base64(ChecksumKind::Crc32c, wrong), None, "{wrong}");
        }
        let long = "A".repeat(4_000);
        assert_eq!(ChecksumValue::from_base64(ChecksumKind::Sha256, &long), None);
        let sha512 = Base64::encode_string(&[7; 64]);
        let value = ChecksumValue::from_base64(ChecksumKind::Sha512, &sha512).unwrap();
        assert_eq!((value.as_bytes(), value.to_base64()), (&[7; 64][..], sha512));
        for len in [63, 65, 66, 67] {
            let text = Base64::encode_string(&vec![7; len]);
            assert_eq!(ChecksumValue::from_base64(ChecksumKind::Sha512, &text), None, "{len}");
        }
    }
}

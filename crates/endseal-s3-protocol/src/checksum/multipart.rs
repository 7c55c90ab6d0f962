//! The checksum of a multipart object out of those of its parts.

use crc_fast::CrcAlgorithm;

use super::{ChecksumKind, ChecksumValue, Hasher};

/// Kind of the checksum of a multipart object (`x-amz-checksum-type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChecksumType {
    /// The checksum of the parts' checksums, written with the number of parts behind it.
    Composite,
    /// The checksum of the object's whole content.
    FullObject,
}

impl ChecksumType {
    /// The word in headers and XML.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Composite => "COMPOSITE",
            Self::FullObject => "FULL_OBJECT",
        }
    }

    /// The type with this name, in upper or lower case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Composite, Self::FullObject]
            .into_iter()
            .find(|it| it.name().eq_ignore_ascii_case(name))
    }

    /// Returns the type that S3 takes when an upload names an algorithm and no type.
    #[must_use]
    pub fn default_of(kind: ChecksumKind) -> Self {
        match kind {
            ChecksumKind::Crc64Nvme => Self::FullObject,
            _ => Self::Composite,
        }
    }

    /// Returns true if S3 knows this type for the algorithm: hashes cannot be combined, and
    /// CRC64NVME is only combined.
    #[must_use]
    pub fn fits(self, kind: ChecksumKind) -> bool {
        match kind {
            ChecksumKind::Crc32 | ChecksumKind::Crc32c => true,
            ChecksumKind::Crc64Nvme => self == Self::FullObject,
            ChecksumKind::Sha1 | ChecksumKind::Sha256 | ChecksumKind::Sha512 => {
                self == Self::Composite
            }
        }
    }
}

/// The checksum of the parts' checksums, in order of the parts; `None` if one is of another kind.
/// Headers show it as `<base64>-<number of parts>`.
#[must_use]
pub fn composite(kind: ChecksumKind, parts: &[ChecksumValue]) -> Option<ChecksumValue> {
    let mut hasher = Hasher::new(kind);
    for part in parts {
        if part.kind() != kind {
            return None;
        }
        hasher.update(part.as_bytes());
    }
    Some(hasher.finish())
}

/// The checksum of the whole content out of the parts' checksums and lengths in bytes; `None` for
/// hashes, and if a part is of another kind.
#[must_use]
pub fn combined(kind: ChecksumKind, parts: &[(ChecksumValue, u64)]) -> Option<ChecksumValue> {
    let algorithm = match kind {
        ChecksumKind::Crc32 => CrcAlgorithm::Crc32IsoHdlc,
        ChecksumKind::Crc32c => CrcAlgorithm::Crc32Iscsi,
        ChecksumKind::Crc64Nvme => CrcAlgorithm::Crc64Nvme,
        ChecksumKind::Sha1 | ChecksumKind::Sha256 | ChecksumKind::Sha512 => return None,
    };
    let mut all = number(&Hasher::new(kind).finish());
    for (part, len) in parts {
        if part.kind() != kind {
            return None;
        }
        all = crc_fast::checksum_combine(algorithm, all, number(part), *len);
    }
    Some(ChecksumValue::of_number(kind, all))
}

/// Parses a composite checksum, `<base64>-<number of parts>`.
#[must_use]
pub fn parse_composite(kind: ChecksumKind, text: &str) -> Option<(ChecksumValue, u16)> {
    let (value, parts) = text.rsplit_once('-')?;
    if parts.starts_with(['0', '+']) {
        return None;
    }
    Some((ChecksumValue::from_base64(kind, value)?, parts.parse().ok()?))
}

fn number(value: &ChecksumValue) -> u64 {
    value.as_bytes().iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checksum(kind: ChecksumKind, data: &[u8]) -> ChecksumValue {
        let mut hasher = Hasher::new(kind);
        hasher.update(data);
        hasher.finish()
    }

    #[test]
    fn combined_is_that_of_the_whole() {
        let data: Vec<u8> =
            (0..70_000_u32).map(|i| (i.wrapping_mul(i) >> 7).to_le_bytes()[0]).collect();
        let cuts = [0, 0, 1, 4_096, 5_000, 69_999, 70_000, 70_000];
        for kind in [ChecksumKind::Crc32, ChecksumKind::Crc32c, ChecksumKind::Crc64Nvme] {
            let parts: Vec<_> = cuts
                .windows(2)
                .map(|cut| (checksum(kind, &data[cut[0]..cut[1]]), (cut[1] - cut[0]) as u64))
                .collect();
            assert_eq!(combined(kind, &parts), Some(checksum(kind, &data)), "{}", kind.name());
            assert_eq!(combined(kind, &[]), Some(checksum(kind, b"")));
            let alien = checksum(ChecksumKind::Sha1, b"");
            assert_eq!(combined(kind, &[(alien, 0)]), None);
        }
        assert_eq!(combined(ChecksumKind::Sha256, &[]), None);
    }

    #[test]
    fn composite_is_that_of_the_values() {
        for kind in ChecksumKind::ALL {
            let parts = [checksum(kind, b"one"), checksum(kind, b"two")];
            let joined = [parts[0].as_bytes(), parts[1].as_bytes()].concat();
            let whole = composite(kind, &parts).unwrap();
            assert_eq!(whole, checksum(kind, &joined));
            let text = format!("{}-2", whole.to_base64());
            assert_eq!(parse_composite(kind, &text), Some((whole, 2)));
        }
        let alien = checksum(ChecksumKind::Sha1, b"");
        assert_eq!(composite(ChecksumKind::Crc32, &[alien]), None);
        for wrong in
            ["", "AAAAAA==", "AAAAAA==-", "AAAAAA==-0", "AAAAAA==-+1", "AAAA-1", "AAAAAA==-99999"]
        {
            assert_eq!(parse_composite(ChecksumKind::Crc32, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn types_fit_as_s3_says() {
        for kind in ChecksumKind::ALL {
            assert!(ChecksumType::default_of(kind).fits(kind));
        }
        assert!(!ChecksumType::FullObject.fits(ChecksumKind::Sha256));
        assert!(!ChecksumType::Composite.fits(ChecksumKind::Crc64Nvme));
        assert_eq!(ChecksumType::from_name("full_object"), Some(ChecksumType::FullObject));
        assert_eq!(ChecksumType::from_name("whole"), None);
    }
}

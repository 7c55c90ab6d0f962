//! Conversion between the checksums of requests and those in records of objects.

use endseal_s3_format::{ChecksumAlgorithm, ContentChecksum};
use endseal_s3_protocol::checksum::{ChecksumKind, ChecksumValue};

/// Returns the algorithm in the form of records. `None` for SHA-512, which is too long for a
/// record.
pub(crate) const fn kept_algorithm(kind: ChecksumKind) -> Option<ChecksumAlgorithm> {
    match kind {
        ChecksumKind::Crc32 => Some(ChecksumAlgorithm::Crc32),
        ChecksumKind::Crc32c => Some(ChecksumAlgorithm::Crc32c),
        ChecksumKind::Crc64Nvme => Some(ChecksumAlgorithm::Crc64Nvme),
        ChecksumKind::Sha1 => Some(ChecksumAlgorithm::Sha1),
        ChecksumKind::Sha256 => Some(ChecksumAlgorithm::Sha256),
        _ => None,
    }
}

/// Returns the algorithm in the form of responses.
pub(crate) const fn shown_algorithm(algorithm: ChecksumAlgorithm) -> ChecksumKind {
    match algorithm {
        ChecksumAlgorithm::Crc32 => ChecksumKind::Crc32,
        ChecksumAlgorithm::Crc32c => ChecksumKind::Crc32c,
        ChecksumAlgorithm::Crc64Nvme => ChecksumKind::Crc64Nvme,
        ChecksumAlgorithm::Sha1 => ChecksumKind::Sha1,
        ChecksumAlgorithm::Sha256 => ChecksumKind::Sha256,
    }
}

/// Returns the checksum in the form of records. `None` for SHA-512.
pub(crate) fn kept(checksum: ChecksumValue) -> Option<ContentChecksum> {
    ContentChecksum::new(kept_algorithm(checksum.kind())?, checksum.as_bytes())
}

/// Returns the checksum in the form of responses.
pub(crate) fn shown(checksum: &ContentChecksum) -> Option<ChecksumValue> {
    ChecksumValue::from_bytes(shown_algorithm(checksum.algorithm()), checksum.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_checksum_but_sha_512_is_kept_and_shown() {
        for kind in ChecksumKind::ALL {
            let value = ChecksumValue::from_bytes(kind, &vec![7; kind.len()]).unwrap();
            let back = kept(value).as_ref().and_then(shown);
            let expected = (kind != ChecksumKind::Sha512).then_some(value);
            assert_eq!(back, expected, "{kind:?}");
        }
    }
}

//! Conversion between the checksums of requests and those in records of objects.

use endseal_s3_format::{ChecksumAlgorithm, ContentChecksum};
use endseal_s3_protocol::checksum::{ChecksumKind, ChecksumValue};

/// Returns the checksum in the form of records. `None` for SHA-512, which is too long for a record.
pub(crate) fn kept(checksum: ChecksumValue) -> Option<ContentChecksum> {
    let algorithm = match checksum.kind() {
        ChecksumKind::Crc32 => ChecksumAlgorithm::Crc32,
        ChecksumKind::Crc32c => ChecksumAlgorithm::Crc32c,
        ChecksumKind::Crc64Nvme => ChecksumAlgorithm::Crc64Nvme,
        ChecksumKind::Sha1 => ChecksumAlgorithm::Sha1,
        ChecksumKind::Sha256 => ChecksumAlgorithm::Sha256,
        _ => return None,
    };
    ContentChecksum::new(algorithm, checksum.as_bytes())
}

/// Returns the checksum in the form of responses.
pub(crate) fn shown(checksum: &ContentChecksum) -> Option<ChecksumValue> {
    let kind = match checksum.algorithm() {
        ChecksumAlgorithm::Crc32 => ChecksumKind::Crc32,
        ChecksumAlgorithm::Crc32c => ChecksumKind::Crc32c,
        ChecksumAlgorithm::Crc64Nvme => ChecksumKind::Crc64Nvme,
        ChecksumAlgorithm::Sha1 => ChecksumKind::Sha1,
        ChecksumAlgorithm::Sha256 => ChecksumKind::Sha256,
    };
    ChecksumValue::from_bytes(kind, checksum.as_bytes())
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

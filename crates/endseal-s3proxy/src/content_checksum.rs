//! Checksums of content: conversion between those of requests and those in records of objects, and
//! the headers of responses.

use endseal_s3_format::{ChecksumAlgorithm, ContentChecksum};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::checksum::{ChecksumKind, ChecksumValue, Outcome};
use http::{HeaderMap, HeaderValue};

use crate::headers;

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

/// Replaces the headers that describe the sealed bytes by those about the content.
///
/// # Errors
/// If a header cannot be built.
pub(crate) fn describe_content(headers: &mut HeaderMap, outcome: &Outcome) -> Result<(), S3Error> {
    headers::remove(headers, |name| headers::is_checksum(name.as_str()));
    // The size is that of the sealed object.
    headers.remove(headers::OBJECT_SIZE);
    if let Some(checksum) = outcome.checksum {
        headers::insert(headers, checksum.kind().header(), &checksum.to_base64())?;
        headers.insert("x-amz-checksum-type", HeaderValue::from_static("FULL_OBJECT"));
    }
    Ok(())
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

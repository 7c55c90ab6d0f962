//! Checksum that a client announced for an object when it created the upload. It holds until the
//! upload is completed.

use endseal_s3_format::{AnnouncedAlgorithm, AnnouncedChecksum};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::checksum::{ChecksumError, ChecksumKind, ChecksumType};
use endseal_s3_protocol::xml::CompletedPart;
use http::HeaderMap;

use crate::content_checksum::{kept_algorithm, shown_algorithm};
use crate::headers::{self, CHECKSUM_ALGORITHM};

/// Header with the type of the checksum.
pub(super) const CHECKSUM_TYPE: &str = "x-amz-checksum-type";

/// Algorithm and type of an announced checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Announced {
    pub(super) algorithm: ChecksumKind,
    pub(super) checksum_type: ChecksumType,
}

impl Announced {
    /// Reads the headers of `CreateMultipartUpload`. Without a type, it is the algorithm's default.
    ///
    /// # Errors
    /// `InvalidRequest` for an unknown algorithm, for a type without an algorithm, and for a type
    /// that S3 does not have for the algorithm.
    pub(super) fn of_creation(headers: &HeaderMap) -> Result<Option<Self>, S3Error> {
        let checksum_type = checksum_type(headers)?;
        let Some(name) = headers::text(headers, CHECKSUM_ALGORITHM) else {
            return match checksum_type {
                None => Ok(None),
                Some(_) => Err(S3Error::invalid_request(
                    "The x-amz-checksum-type header can only be used with the \
                     x-amz-checksum-algorithm header.",
                )),
            };
        };
        let algorithm = ChecksumKind::from_name(name).ok_or(ChecksumError::UnknownAlgorithm)?;
        let default = || ChecksumType::default_of(algorithm);
        let own = Self { algorithm, checksum_type: checksum_type.unwrap_or_else(default) };
        check_fit(own.checksum_type, algorithm)?;
        Ok(Some(own))
    }

    /// Returns the value for the upload id.
    pub(super) fn sealed(self) -> AnnouncedChecksum {
        let kept = kept_algorithm(self.algorithm).map(AnnouncedAlgorithm::Kept);
        let algorithm = kept.unwrap_or(AnnouncedAlgorithm::Sha512);
        let is_full_object = self.checksum_type == ChecksumType::FullObject;
        AnnouncedChecksum { algorithm, is_full_object }
    }

    /// Converts the value of an upload id.
    pub(super) fn opened(checksum: AnnouncedChecksum) -> Self {
        let algorithm = match checksum.algorithm {
            AnnouncedAlgorithm::Kept(algorithm) => shown_algorithm(algorithm),
            AnnouncedAlgorithm::Sha512 => ChecksumKind::Sha512,
        };
        let checksum_type = match checksum.is_full_object {
            true => ChecksumType::FullObject,
            false => ChecksumType::Composite,
        };
        Self { algorithm, checksum_type }
    }

    /// Refuses a completion whose type, object checksum or part checksums are not those that were
    /// announced. A completion without them is accepted.
    ///
    /// # Errors
    /// `InvalidRequest`.
    pub(super) fn check_completion(
        self,
        headers: &HeaderMap,
        parts: &[CompletedPart],
    ) -> Result<(), S3Error> {
        let Self { algorithm, checksum_type } = self;
        let named = self::checksum_type(headers)?;
        if let Some(named) = named.filter(|named| *named != checksum_type) {
            return Err(S3Error::invalid_request(format!(
                "The upload was created with the checksum type {}, and its completion names {}. \
                 Name the same type, or none.",
                checksum_type.name(),
                named.name()
            )));
        }
        let other = |what: &str, other: ChecksumKind| {
            Err(S3Error::invalid_request(format!(
                "The upload was created with the checksum algorithm {}, and its completion has a \
                 {} checksum of {what}.",
                algorithm.name(),
                other.name()
            )))
        };
        let mut kinds = ChecksumKind::ALL.into_iter();
        let of_object =
            kinds.find(|kind| *kind != algorithm && headers.contains_key(kind.header()));
        if let Some(kind) = of_object {
            return other("the object", kind);
        }
        for part in parts {
            let kind = part.checksum.map(|checksum| checksum.kind());
            if let Some(kind) = kind.filter(|kind| *kind != algorithm) {
                return other(&format!("part {}", part.number), kind);
            }
        }
        Ok(())
    }
}

/// Returns the type that a request names.
///
/// # Errors
/// `InvalidRequest` for a type that S3 does not have.
pub(super) fn checksum_type(headers: &HeaderMap) -> Result<Option<ChecksumType>, S3Error> {
    let Some(name) = headers::text(headers, CHECKSUM_TYPE) else { return Ok(None) };
    let unknown =
        || S3Error::invalid_request("The x-amz-checksum-type header is COMPOSITE or FULL_OBJECT.");
    ChecksumType::from_name(name).map(Some).ok_or_else(unknown)
}

/// Refuses a type that S3 does not have for an algorithm.
///
/// # Errors
/// `InvalidRequest`.
pub(super) fn check_fit(
    checksum_type: ChecksumType,
    algorithm: ChecksumKind,
) -> Result<(), S3Error> {
    if checksum_type.fits(algorithm) {
        return Ok(());
    }
    Err(S3Error::invalid_request(format!(
        "The {} checksum type cannot be used with the {} checksum algorithm.",
        checksum_type.name(),
        algorithm.name()
    )))
}

#[cfg(test)]
mod tests {
    use endseal_s3_protocol::checksum::{ChecksumKind, ChecksumType, ChecksumValue};
    use endseal_s3_protocol::xml::CompletedPart;
    use http::{HeaderMap, HeaderName};

    use super::Announced;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let parse = |(name, value): &(&str, &str)| {
            (name.parse::<HeaderName>().unwrap(), value.parse().unwrap())
        };
        pairs.iter().map(parse).collect()
    }

    #[test]
    fn a_creation_names_algorithm_and_type() {
        let of = |algorithm: &str, checksum_type: &str| {
            let names = ["x-amz-checksum-algorithm", "x-amz-checksum-type"];
            let pairs = names.into_iter().zip([algorithm, checksum_type]);
            let pairs: Vec<_> = pairs.filter(|(_, text)| !text.is_empty()).collect();
            Announced::of_creation(&headers(&pairs)).map_err(|error| error.code().to_owned())
        };
        let full = ["CRC32", "CRC32C", "CRC64NVME"];
        let composite = ["CRC32", "CRC32C", "SHA1", "SHA256", "SHA512"];
        for algorithm in ChecksumKind::ALL {
            for checksum_type in [ChecksumType::Composite, ChecksumType::FullObject] {
                let announced = Announced { algorithm, checksum_type };
                let fitting = match checksum_type {
                    ChecksumType::FullObject => &full[..],
                    _ => &composite[..],
                };
                let expected = match fitting.contains(&algorithm.name()) {
                    true => Ok(Some(announced)),
                    false => Err("InvalidRequest".to_owned()),
                };
                let name = algorithm.name().to_lowercase();
                assert_eq!(of(&name, checksum_type.name()), expected, "{announced:?}");
                if expected.is_ok() {
                    assert!(announced.sealed().is_valid());
                    assert_eq!(Announced::opened(announced.sealed()), announced);
                }
            }
            let checksum_type = ChecksumType::default_of(algorithm);
            assert_eq!(of(algorithm.name(), ""), Ok(Some(Announced { algorithm, checksum_type })));
        }
        assert_eq!(of("", ""), Ok(None));
        for (algorithm, checksum_type) in [("", "COMPOSITE"), ("CRC32", "WHOLE"), ("MD4", "")] {
            assert_eq!(of(algorithm, checksum_type), Err("InvalidRequest".to_owned()));
        }
    }

    #[test]
    fn a_completion_does_not_contradict_the_creation() {
        let announced =
            Announced { algorithm: ChecksumKind::Crc32, checksum_type: ChecksumType::FullObject };
        let part = |kind: Option<ChecksumKind>| CompletedPart {
            number: 1,
            etag: "e".to_owned(),
            checksum: kind.and_then(|kind| ChecksumValue::from_bytes(kind, &vec![1; kind.len()])),
        };
        let (none, same, other) =
            (part(None), part(Some(ChecksumKind::Crc32)), part(Some(ChecksumKind::Sha1)));
        for (pairs, parts, is_accepted) in [
            (&[][..], vec![none.clone(), same.clone()], true),
            (&[("x-amz-checksum-type", "FULL_OBJECT")], vec![same.clone()], true),
            (&[("x-amz-checksum-crc32", "AQEBAQ==")], vec![same.clone()], true),
            (&[("x-amz-checksum-type", "COMPOSITE")], vec![same.clone()], false),
            (&[("x-amz-checksum-type", "WHOLE")], vec![same.clone()], false),
            (&[("x-amz-checksum-crc32c", "AQEBAQ==")], vec![same.clone()], false),
            (&[], vec![same, other], false),
        ] {
            let checked = announced.check_completion(&headers(pairs), &parts);
            let code = checked.err().map(|error| error.code().to_owned());
            assert_eq!(code.as_deref(), (!is_accepted).then_some("InvalidRequest"), "{pairs:?}");
        }
    }
}

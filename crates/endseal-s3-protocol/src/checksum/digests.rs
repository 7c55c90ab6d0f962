//! All that a request says of its content, checked in one pass.

use base64ct::{Base64, Encoding as _};
use endseal_crypto::legacy_hash::Md5;
use endseal_crypto::secret::constant_time_eq;
use endseal_crypto::sha256;
use http::HeaderMap;

use super::{ChecksumError, ChecksumKind, ChecksumValue, Hasher};
use crate::headers::{AMZ_TRAILER, CONTENT_MD5, SDK_CHECKSUM};

/// The digests that one request needs, over content that comes in pieces.
///
/// Nothing is computed that the request did not ask for. The caller MUST hold back the end of the
/// content until [`finish`](Self::finish) returned without an error.
#[derive(Clone, Debug, Default)]
pub struct Digests {
    /// With the value that was announced, if one was.
    md5: Option<(Md5, Option<[u8; 16]>)>,
    /// Serves `x-amz-content-sha256` and a checksum of that kind alike.
    sha256: Option<sha256::Digest>,
    content_sha256: Option<[u8; 32]>,
    checksum: Option<Checksum>,
}

#[derive(Clone, Debug)]
struct Checksum {
    kind: ChecksumKind,
    /// Computes the checksum; `None` for SHA-256, which `sha256` computes.
    hasher: Option<Hasher>,
    expected: Expected,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Expected {
    Value(ChecksumValue),
    Trailer,
    /// Computed for its own sake.
    Nothing,
}

/// Digests that were computed and found right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// The checksum that the client gave or [`Digests::want`] asked for.
    pub checksum: Option<ChecksumValue>,
    /// MD5 of the content, if the client gave it.
    pub md5: Option<[u8; 16]>,
    /// SHA-256 of the content, if it was computed: for `x-amz-content-sha256`, or as the checksum.
    pub sha256: Option<[u8; 32]>,
}

impl Digests {
    /// Makes a set without any digest.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the digests that `Content-MD5`, `x-amz-checksum-*`, `x-amz-trailer` and
    /// `x-amz-sdk-checksum-algorithm` ask for, and `content_sha256` (from `x-amz-content-sha256`,
    /// as `sigv4` verified it).
    ///
    /// Not for CompleteMultipartUpload, whose checksum headers speak of the object.
    ///
    /// # Errors
    /// Malformed values, more than one checksum, unknown algorithms and trailers.
    pub fn of_request(
        headers: &HeaderMap,
        content_sha256: Option<[u8; 32]>,
    ) -> Result<Self, ChecksumError> {
        let mut digests = Self::new();
        if let Some(digest) = content_sha256 {
            digests.expect_content_sha256(digest);
        }
        for value in headers.get_all(CONTENT_MD5) {
            if digests.md5.is_some() {
                return Err(ChecksumError::InvalidMd5);
            }
            digests.expect_md5(value.to_str().unwrap_or_default())?;
        }
        for (name, value) in headers {
            let Some(rest) = name.as_str().strip_prefix("x-amz-checksum-") else { continue };
            if is_about(rest) {
                continue;
            }
            let kind =
                ChecksumKind::from_header(name.as_str()).ok_or(ChecksumError::UnknownAlgorithm)?;
            digests.expect(kind, value.to_str().unwrap_or_default())?;
        }
        for kind in trailers(headers)? {
            digests.expect_trailer(kind)?;
        }
        if let Some(named) = headers.get(SDK_CHECKSUM) {
            let kind = named.to_str().ok().and_then(ChecksumKind::from_name);
            let kind = kind.ok_or(ChecksumError::UnknownAlgorithm)?;
            if digests.kind() != Some(kind) {
                return Err(ChecksumError::MissingValue);
            }
        }
        Ok(digests)
    }

    /// Returns true if a request has the checksum of an algorithm that is not among
    /// [`ChecksumKind::ALL`].
    #[must_use]
    pub fn is_unknown(headers: &HeaderMap) -> bool {
        headers.keys().map(|name| name.as_str()).any(|name| {
            let rest = name.strip_prefix("x-amz-checksum-");
            rest.is_some_and(|rest| !is_about(rest)) && ChecksumKind::from_header(name).is_none()
        })
    }

    /// Expects the MD5 that `text` is the base64 of.
    ///
    /// # Errors
    /// [`ChecksumError::InvalidMd5`].
    pub fn expect_md5(&mut self, text: &str) -> Result<(), ChecksumError> {
        let mut buffer = [0; 18];
        let value = Base64::decode(text, &mut buffer).ok();
        let value = value.and_then(|value| value.try_into().ok());
        self.md5 = Some((Md5::new(), Some(value.ok_or(ChecksumError::InvalidMd5)?)));
        Ok(())
    }

    /// Expects the SHA-256 of `x-amz-content-sha256`.
    pub fn expect_content_sha256(&mut self, digest: [u8; 32]) {
        self.content_sha256 = Some(digest);
        self.sha256.get_or_insert_default();
    }

    /// Expects the checksum that `text` is the base64 of.
    ///
    /// # Errors
    /// A malformed value, or a second checksum.
    pub fn expect(&mut self, kind: ChecksumKind, text: &str) -> Result<(), ChecksumError> {
        let value = ChecksumValue::from_base64(kind, text);
        let value = value.ok_or(ChecksumError::InvalidValue(kind))?;
        self.add(kind, Expected::Value(value))
    }

    /// Expects a checksum behind the content, given to [`finish`](Self::finish).
    ///
    /// # Errors
    /// A second checksum.
    pub fn expect_trailer(&mut self, kind: ChecksumKind) -> Result<(), ChecksumError> {
        self.add(kind, Expected::Trailer)
    }

    /// Computes a checksum although the request has none, unless one is computed already.
    pub fn want(&mut self, kind: ChecksumKind) {
        if self.checksum.is_none() {
            // Cannot fail: there is none yet.
            let _ = self.add(kind, Expected::Nothing);
        }
    }

    /// The kind of checksum that is computed.
    #[must_use]
    pub fn kind(&self) -> Option<ChecksumKind> {
        self.checksum.as_ref().map(|checksum| checksum.kind)
    }

    /// Returns true if nothing is computed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.md5.is_none() && self.sha256.is_none() && self.checksum.is_none()
    }

    /// Adds content to all digests that are computed.
    pub fn update(&mut self, data: &[u8]) {
        if let Some((md5, _)) = &mut self.md5 {
            md5.update(data);
        }
        if let Some(sha256) = &mut self.sha256 {
            sha256.update(data);
        }
        if let Some(Checksum { hasher: Some(hasher), .. }) = &mut self.checksum {
            hasher.update(data);
        }
    }

    /// Compares all that was expected; `trailers` are those of the chunked upload, if it was one.
    ///
    /// # Errors
    /// The first that differs, or a trailer that is missing or malformed.
    pub fn finish(self, trailers: Option<&HeaderMap>) -> Result<Outcome, ChecksumError> {
        let mut outcome = Outcome::default();
        let sha256 = self.sha256.map(sha256::Digest::finish);
        if let (Some(computed), Some(expected)) = (&sha256, &self.content_sha256)
            && !constant_time_eq(computed, expected)
        {
            return Err(ChecksumError::ContentSha256Mismatch);
        }
        if let Some((md5, expected)) = self.md5 {
            let computed = md5.finish();
            if expected.is_some_and(|expected| !constant_time_eq(&computed, &expected)) {
                return Err(ChecksumError::Md5Mismatch);
            }
            outcome.md5 = Some(computed);
        }
        if let Some(Checksum { kind, hasher, expected }) = self.checksum {
            let computed = match (hasher, sha256) {
                (Some(hasher), _) => Some(hasher.finish()),
                (None, Some(digest)) => ChecksumValue::from_bytes(kind, &digest),
                (None, None) => None,
            };
            let expected = match expected {
                Expected::Value(value) => Some(value),
                Expected::Trailer => Some(trailer(kind, trailers)?),
                Expected::Nothing => None,
            };
            if expected.is_some() && expected != computed {
                return Err(ChecksumError::Mismatch(kind));
            }
            outcome.checksum = computed;
        }
        outcome.sha256 = sha256;
        Ok(outcome)
    }

    fn add(&mut self, kind: ChecksumKind, expected: Expected) -> Result<(), ChecksumError> {
        if self.checksum.is_some() {
            return Err(ChecksumError::Several);
        }
        let hasher = if kind == ChecksumKind::Sha256 {
            self.sha256.get_or_insert_default();
            None
        } else {
            Some(Hasher::new(kind))
        };
        self.checksum = Some(Checksum { kind, hasher, expected });
        Ok(())
    }
}

/// Returns true for the end of a header's name that is no algorithm.
fn is_about(rest: &str) -> bool {
    matches!(rest, "algorithm" | "type" | "mode")
}

/// The checksums that `x-amz-trailer` announces.
fn trailers(headers: &HeaderMap) -> Result<Vec<ChecksumKind>, ChecksumError> {
    let mut kinds = Vec::new();
    for value in headers.get_all(AMZ_TRAILER) {
        let value = value.to_str().map_err(|_| ChecksumError::UnknownTrailer)?;
        for name in value.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let kind = ChecksumKind::from_header(name).ok_or(ChecksumError::UnknownTrailer)?;
            kinds.push(kind);
        }
    }
    Ok(kinds)
}

fn trailer(
    kind: ChecksumKind,
    trailers: Option<&HeaderMap>,
) -> Result<ChecksumValue, ChecksumError> {
    let value = trailers.and_then(|trailers| trailers.get(kind.header()));
    let value = value.ok_or(ChecksumError::MissingTrailer(kind))?;
    let value = value.to_str().ok().and_then(|text| ChecksumValue::from_base64(kind, text));
    value.ok_or(ChecksumError::InvalidValue(kind))
}

#[cfg(test)]
mod tests;

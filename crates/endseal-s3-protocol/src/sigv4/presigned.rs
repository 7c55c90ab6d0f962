//! The signature in the query: `X-Amz-Algorithm`, `X-Amz-Credential`, `X-Amz-Date` …

use super::canonical::ALGORITHM;
use super::hex::digest;
use super::{SignatureError, Timestamp, uri};

/// Longest validity in seconds: 7 days.
pub(super) const MAX_EXPIRES: i64 = 604_800;
pub(super) const SIGNATURE: &str = "X-Amz-Signature";

/// The parameters of a presigned request, decoded.
pub(super) struct Presigned {
    pub(super) credential: String,
    pub(super) time: Timestamp,
    /// Validity in seconds, counted from `time`.
    pub(super) expires: i64,
    pub(super) signed: String,
    pub(super) signature: [u8; 32],
    pub(super) content_sha256: Option<String>,
}

/// Signature mechanism that a query names.
pub(super) enum Mechanism<'q> {
    None,
    Version2,
    Version4(Vec<uri::Pair<'q>>),
}

pub(super) fn mechanism(query: Option<&str>) -> Result<Mechanism<'_>, SignatureError> {
    let Some(query) = query else { return Ok(Mechanism::None) };
    let pairs = uri::decode_query(query).map_err(|_| SignatureError::InvalidUri)?;
    let has =
        |wanted: &str| pairs.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted.as_bytes()));
    if has(SIGNATURE) || has("X-Amz-Credential") || has("X-Amz-Algorithm") {
        return Ok(Mechanism::Version4(pairs));
    }
    if has("AWSAccessKeyId") && has("Signature") {
        return Ok(Mechanism::Version2);
    }
    Ok(Mechanism::None)
}

impl Presigned {
    pub(super) fn parse(pairs: &[uri::Pair<'_>]) -> Result<Self, SignatureError> {
        use SignatureError::MalformedQuery as Malformed;
        let find = |wanted: &str| {
            let mut found = pairs.iter().filter(|(name, _)| **name == *wanted.as_bytes());
            let value = found.next().map(|(_, value)| &**value);
            if found.next().is_some() {
                return Err(Malformed("A parameter is there twice."));
            }
            value
                .map(core::str::from_utf8)
                .transpose()
                .map_err(|_| Malformed("A parameter is not UTF-8."))
        };
        let need = |wanted: &str| {
            find(wanted)?.ok_or(Malformed(
                "Query-string authentication version 4 requires the X-Amz-Algorithm, \
                 X-Amz-Credential, X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and \
                 X-Amz-Expires parameters.",
            ))
        };
        if need("X-Amz-Algorithm")? != ALGORITHM {
            return Err(Malformed("X-Amz-Algorithm only supports \"AWS4-HMAC-SHA256\"."));
        }
        if find("X-Amz-Security-Token")?.is_some() {
            return Err(SignatureError::InvalidToken);
        }
        let time = Timestamp::from_basic(need("X-Amz-Date")?).ok_or(Malformed(
            "X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\".",
        ))?;
        let expires = need("X-Amz-Expires")?;
        if expires.is_empty() || !expires.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Malformed("X-Amz-Expires should be a number."));
        }
        let expires = expires.parse().ok().filter(|it| *it <= MAX_EXPIRES).ok_or(Malformed(
            "X-Amz-Expires must be less than a week (in seconds); that is, the given \
             X-Amz-Expires must be less than 604800 seconds.",
        ))?;
        Ok(Self {
            credential: need("X-Amz-Credential")?.to_owned(),
            time,
            expires,
            signed: need("X-Amz-SignedHeaders")?.to_owned(),
            signature: digest(need(SIGNATURE)?.as_bytes())
                .ok_or(Malformed("X-Amz-Signature is not 64 hexadecimal digits."))?,
            content_sha256: find("X-Amz-Content-Sha256")?.map(str::to_owned),
        })
    }
}

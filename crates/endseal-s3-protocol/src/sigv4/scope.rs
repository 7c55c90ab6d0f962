//! Scope of a credential: `<access key>/<day>/<region>/<service>/aws4_request`.

use super::Timestamp;
use super::ascii::rsplit_once;

/// Longest region that is taken.
const MAX_REGION: usize = 64;
/// The service that clients sign for.
pub(super) const S3: &str = "s3";

/// Access key, day, region and service for which a signature is valid.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) access_key: &'a str,
    pub(super) day: &'a str,
    pub(super) region: &'a str,
    pub(super) service: &'a str,
}

impl<'a> Scope<'a> {
    /// Reads a credential. An access key may contain slashes, the rest not.
    pub(super) fn parse(credential: &'a str) -> Result<Self, &'static str> {
        const SHAPE: &str =
            "The credential must have the form <access key>/<YYYYMMDD>/<region>/s3/aws4_request.";
        let mut access_key = credential;
        let mut last = || {
            let (rest, field) = rsplit_once(access_key, b'/')?;
            access_key = rest;
            Some(field).filter(|field| !field.is_empty())
        };
        let mut next = || last().ok_or(SHAPE);
        let (end, service, region, day) = (next()?, next()?, next()?, next()?);
        if access_key.is_empty() {
            return Err(SHAPE);
        }
        if service != S3 {
            return Err("The credential's service is wrong; expecting 's3'.");
        }
        if end != "aws4_request" {
            return Err("The credential must end in 'aws4_request'.");
        }
        if Timestamp::from_day(day).is_none() {
            return Err("The credential's date is malformed; expecting YYYYMMDD.");
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if region.len() > MAX_REGION || !region.bytes().all(plain) {
            return Err("The credential's region is malformed.");
        }
        Ok(Self { access_key, day, region, service })
    }

    /// Returns the text of it that is signed.
    pub(super) fn signed(&self) -> String {
        self.signed_parts().concat()
    }

    /// The same text in parts, for callers that append them to their own buffer.
    pub(super) const fn signed_parts(&self) -> [&'a str; 6] {
        [self.day, "/", self.region, "/", self.service, "/aws4_request"]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_read_from_their_end() {
        let scope = Scope::parse("a/b/20130524/us-east-1/s3/aws4_request")
            .unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((scope.access_key, scope.day, scope.region), ("a/b", "20130524", "us-east-1"));
        assert_eq!(scope.signed(), "20130524/us-east-1/s3/aws4_request");
    }

    #[test]
    fn malformed_credentials_are_refused() {
        let long = format!("a/20130524/{}/s3/aws4_request", "r".repeat(65));
        for wrong in [
            "",
            "a",
            "////",
            "/20130524/r/s3/aws4_request",
            "a/20130524//s3/aws4_request",
            "a/20130524/r/iam/aws4_request",
            "a/20130524/r/s3/aws4",
            "a/2013052/r/s3/aws4_request",
            "a/20130231/r/s3/aws4_request",
            "a/20130524/r\n/s3/aws4_request",
            &long,
        ] {
            assert!(Scope::parse(wrong).is_err(), "{wrong}");
        }
    }
}

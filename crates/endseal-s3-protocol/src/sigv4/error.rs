//! Errors of signatures, with the codes and messages of S3.

use core::fmt;

/// Reason why a signature was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignatureError {
    /// The signature is not that of the request: another secret, or something was changed.
    Mismatch,
    /// The credential names an access key that does not exist.
    UnknownAccessKey,
    /// The date in the header is more than 15 minutes from now: a clock is wrong.
    Skewed,
    /// Neither `x-amz-date` nor `Date`, or no date in them.
    MissingDate,
    /// The `Authorization` header is not of its form; what is wrong with it.
    MalformedHeader(&'static str),
    /// The signature in the query is not of its form; what is wrong with it.
    MalformedQuery(&'static str),
    /// The region in the credential is not this one.
    WrongRegion {
        /// The region that is configured.
        expected: String,
        /// True if the signature was in the query.
        query: bool,
    },
    /// A presigned request behind its end.
    Expired,
    /// A presigned request before its date.
    NotYetValid,
    /// `host`, or an `x-amz-` header that was sent, is not signed.
    UnsignedHeader(String),
    /// The header `x-amz-content-sha256` is missing.
    MissingContentSha256,
    /// `x-amz-content-sha256` is neither a digest nor one of the known words.
    InvalidContentSha256,
    /// The content is signed chunk by chunk, but the request is not.
    UnsignedSeed,
    /// The request is signed with Signature Version 2, which is not supported.
    Version2,
    /// A mechanism that is none of S3's, or Version 4A (asymmetric).
    UnsupportedMechanism,
    /// The request has signatures in more than one place.
    SeveralMechanisms,
    /// A session token, which no secret of ours comes with.
    InvalidToken,
    /// Path or query have a broken percent-encoding.
    InvalidUri,
    /// A form lacks a field that its signature needs, or has one twice.
    MalformedForm(&'static str),
    /// The policy of a form is no policy document; what is wrong with it.
    InvalidPolicy(&'static str),
    /// The form does not comply with its policy; the condition or field.
    PolicyViolated(String),
    /// The policy of a form is behind its expiration.
    PolicyExpired,
}

impl SignatureError {
    /// The error code of S3 that clients receive for it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Mismatch => "SignatureDoesNotMatch",
            Self::UnknownAccessKey => "InvalidAccessKeyId",
            Self::Skewed => "RequestTimeTooSkewed",
            Self::MalformedHeader(_) | Self::WrongRegion { query: false, .. } => {
                "AuthorizationHeaderMalformed"
            }
            Self::MalformedQuery(_) | Self::WrongRegion { query: true, .. } => {
                "AuthorizationQueryParametersError"
            }
            Self::MissingDate
            | Self::Expired
            | Self::NotYetValid
            | Self::UnsignedHeader(_)
            | Self::PolicyViolated(_)
            | Self::PolicyExpired => "AccessDenied",
            Self::MissingContentSha256 => "MissingSecurityHeader",
            Self::InvalidContentSha256 | Self::SeveralMechanisms => "InvalidArgument",
            Self::UnsignedSeed | Self::Version2 | Self::UnsupportedMechanism => "InvalidRequest",
            Self::InvalidToken => "InvalidToken",
            Self::InvalidUri => "InvalidURI",
            Self::MalformedForm(_) => "MalformedPOSTRequest",
            Self::InvalidPolicy(_) => "InvalidPolicyDocument",
        }
    }

    /// The HTTP status that goes with it.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self.code() {
            "SignatureDoesNotMatch"
            | "InvalidAccessKeyId"
            | "RequestTimeTooSkewed"
            | "AccessDenied" => 403,
            _ => 400,
        }
    }
}

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mismatch => {
                "The request signature we calculated does not match the signature you provided. \
                 Check your key and signing method."
            }
            Self::UnknownAccessKey => {
                "The AWS Access Key Id you provided does not exist in our records."
            }
            Self::Skewed => {
                "The difference between the request time and the current time is too large."
            }
            Self::MissingDate => "AWS authentication requires a valid Date or x-amz-date header.",
            Self::MalformedHeader(what) => {
                return write!(f, "The authorization header is malformed. {what}");
            }
            Self::MalformedQuery(what) => {
                return write!(f, "Error parsing the query's authorization parameters. {what}");
            }
            Self::WrongRegion { expected, .. } => {
                return write!(f, "The region in the credential is wrong; expecting '{expected}'.");
            }
            Self::Expired => "Request has expired.",
            Self::NotYetValid => "Request is not valid yet.",
            Self::UnsignedHeader(name) => {
                return write!(
                    f,
                    "There were headers present in the request which were not signed: {name}."
                );
            }
            Self::MissingContentSha256 => {
                "Missing required header for this request: x-amz-content-sha256."
            }
            Self::InvalidContentSha256 => {
                "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, \
                 STREAMING-UNSIGNED-PAYLOAD-TRAILER, STREAMING-AWS4-HMAC-SHA256-PAYLOAD, \
                 STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER or a valid sha256 value."
            }
            Self::UnsignedSeed => "Signed chunks need a signed request.",
            Self::Version2 | Self::UnsupportedMechanism => {
                "The authorization mechanism you have provided is not supported. Please use \
                 AWS4-HMAC-SHA256."
            }
            Self::SeveralMechanisms => {
                "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, \
                 Signature query string parameter or the Authorization header should be specified."
            }
            Self::InvalidToken => "The provided token is malformed or otherwise invalid.",
            Self::InvalidUri => "Couldn't parse the specified URI.",
            Self::MalformedForm(what) => {
                return write!(
                    f,
                    "The body of your POST request is not well-formed multipart/form-data. {what}"
                );
            }
            Self::InvalidPolicy(what) => return write!(f, "Invalid Policy: {what}"),
            Self::PolicyViolated(what) => {
                return write!(f, "Invalid according to Policy: Policy Condition failed: {what}");
            }
            Self::PolicyExpired => "Invalid according to Policy: Policy expired.",
        })
    }
}

impl core::error::Error for SignatureError {}

//! Faults of checksums, and S3's words for them.

use core::fmt;

use super::ChecksumKind;

/// Reasons why content, or a checksum that a client states for it, was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChecksumError {
    /// Content and `Content-MD5` differ: damaged on the way, or the header is of other content.
    Md5Mismatch,
    /// `Content-MD5` is no base64 of 16 bytes.
    InvalidMd5,
    /// The SHA-256 of the content differs from `x-amz-content-sha256`.
    ContentSha256Mismatch,
    /// Content and its checksum of this kind differ.
    Mismatch(ChecksumKind),
    /// The value is no base64 of the kind's length.
    InvalidValue(ChecksumKind),
    /// More than one `x-amz-checksum-…`, in headers and trailers together.
    Several,
    /// An algorithm that is not among [`ChecksumKind::ALL`].
    UnknownAlgorithm,
    /// `x-amz-trailer` names something else than a checksum.
    UnknownTrailer,
    /// `x-amz-sdk-checksum-algorithm` without the header or trailer of that algorithm.
    MissingValue,
    /// The trailer that `x-amz-trailer` announced did not come.
    MissingTrailer(ChecksumKind),
}

impl ChecksumError {
    /// The error code of S3 that clients receive for it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Md5Mismatch | Self::Mismatch(_) => "BadDigest",
            Self::InvalidMd5 => "InvalidDigest",
            Self::ContentSha256Mismatch => "XAmzContentSHA256Mismatch",
            Self::MissingTrailer(_) => "MalformedTrailerError",
            Self::InvalidValue(_)
            | Self::Several
            | Self::UnknownAlgorithm
            | Self::UnknownTrailer
            | Self::MissingValue => "InvalidRequest",
        }
    }

    /// The HTTP status that goes with it.
    #[must_use]
    pub fn status(&self) -> u16 {
        400
    }
}

impl fmt::Display for ChecksumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Md5Mismatch => {
                f.write_str("The Content-MD5 you specified did not match what we received.")
            }
            Self::InvalidMd5 => f.write_str("The Content-MD5 you specified is not valid."),
            Self::ContentSha256Mismatch => f.write_str(
                "The provided 'x-amz-content-sha256' header does not match what was computed.",
            ),
            Self::Mismatch(kind) => write!(
                f,
                "The {} you specified did not match the calculated checksum.",
                kind.name()
            ),
            Self::InvalidValue(kind) => {
                write!(f, "Value for {} header is invalid.", kind.header())
            }
            Self::Several => f.write_str(
                "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.",
            ),
            Self::UnknownAlgorithm => f.write_str("The checksum algorithm is not supported."),
            Self::UnknownTrailer => {
                f.write_str("The value specified in the x-amz-trailer header is not supported.")
            }
            Self::MissingValue => f.write_str(
                "x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or \
                 x-amz-trailer headers were found.",
            ),
            Self::MissingTrailer(kind) => {
                write!(f, "The trailer {} is missing.", kind.header())
            }
        }
    }
}

impl core::error::Error for ChecksumError {}

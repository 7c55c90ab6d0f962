//! Faults of a chunked upload, and S3's words for them.

use core::fmt;

/// Reason why a chunked upload was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkError {
    /// The line before a chunk is not `<size>` or `<size>;chunk-signature=<signature>`, or no CRLF
    /// follows the chunk.
    MalformedChunk,
    /// A line is longer than any that a client needs.
    LineTooLong,
    /// The signature of a chunk or of the trailer is wrong: the data were damaged, or signed with
    /// another secret.
    SignatureMismatch,
    /// The content is longer or shorter than `x-amz-decoded-content-length`.
    WrongLength,
    /// `x-amz-decoded-content-length` is missing or no number.
    MissingLength,
    /// The upload ends before its last chunk.
    Incomplete,
    /// A trailer that was not announced, is there twice, is missing or is no header.
    MalformedTrailer,
    /// The upload continues behind its end.
    TrailingBytes,
}

impl ChunkError {
    /// The error code of S3 that clients receive for it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::MalformedChunk | Self::LineTooLong | Self::TrailingBytes => "InvalidRequest",
            Self::SignatureMismatch => "SignatureDoesNotMatch",
            Self::WrongLength | Self::Incomplete => "IncompleteBody",
            Self::MissingLength => "MissingContentLength",
            Self::MalformedTrailer => "MalformedTrailerError",
        }
    }

    /// The HTTP status that goes with it.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::SignatureMismatch => 403,
            Self::MissingLength => 411,
            _ => 400,
        }
    }
}

impl fmt::Display for ChunkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MalformedChunk => "The chunked upload is malformed.",
            Self::LineTooLong => "A line of the chunked upload is too long.",
            Self::SignatureMismatch => {
                "The chunk signature we calculated does not match the signature you provided."
            }
            Self::MissingLength => {
                "You must provide the x-amz-decoded-content-length HTTP header."
            }
            Self::WrongLength | Self::Incomplete => {
                "You did not provide the number of bytes specified by the \
                 x-amz-decoded-content-length HTTP header."
            }
            Self::MalformedTrailer => {
                "The request contained trailing data that was not well-formed or did not conform to \
                 our published schema."
            }
            Self::TrailingBytes => "There are bytes behind the end of the chunked upload.",
        })
    }
}

impl core::error::Error for ChunkError {}

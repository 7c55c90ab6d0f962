//! Announcement of the content's hash in a request (`x-amz-content-sha256`).

use std::borrow::Cow;

use super::chunk::ChunkSigner;
use super::error::SignatureError;
use super::hex::{digest, hex};

/// The value of the header `x-amz-content-sha256`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PayloadHash {
    /// `UNSIGNED-PAYLOAD`: the signature does not cover the content.
    Unsigned,
    /// The digest of the content.
    Sha256([u8; 32]),
    /// `STREAMING-AWS4-HMAC-SHA256-PAYLOAD`: the content comes in signed chunks.
    Streaming,
    /// `STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER`: signed chunks and a signed trailer.
    StreamingTrailer,
    /// `STREAMING-UNSIGNED-PAYLOAD-TRAILER`: chunks and a trailer, none of them signed.
    StreamingUnsignedTrailer,
}

impl PayloadHash {
    const WORDS: [(Self, &'static str); 4] = [
        (Self::Unsigned, "UNSIGNED-PAYLOAD"),
        (Self::Streaming, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"),
        (Self::StreamingTrailer, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"),
        (Self::StreamingUnsignedTrailer, "STREAMING-UNSIGNED-PAYLOAD-TRAILER"),
    ];

    /// Parses the value of the header.
    ///
    /// # Errors
    /// [`SignatureError::UnsupportedMechanism`] for chunks of Version 4A,
    /// [`SignatureError::InvalidContentSha256`] for all else.
    pub fn parse(text: &str) -> Result<Self, SignatureError> {
        if let Some((word, _)) = Self::WORDS.into_iter().find(|(_, word)| *word == text) {
            return Ok(word);
        }
        if text.starts_with("STREAMING-AWS4-ECDSA-") {
            return Err(SignatureError::UnsupportedMechanism);
        }
        digest(text.as_bytes()).map(Self::Sha256).ok_or(SignatureError::InvalidContentSha256)
    }

    /// Returns the value of the header as text.
    #[must_use]
    pub fn to_text(&self) -> Cow<'static, str> {
        match self {
            Self::Sha256(digest) => hex(digest).into(),
            _ => Self::WORDS.iter().find(|(word, _)| word == self).map_or("", |it| it.1).into(),
        }
    }

    /// Returns the payload of a request whose signature is known; `seed` makes the signer of its
    /// chunks.
    pub(super) fn with_seed(self, seed: impl FnOnce() -> ChunkSigner) -> Payload {
        match self {
            Self::Unsigned => Payload::Unsigned,
            Self::Sha256(digest) => Payload::Sha256(digest),
            Self::Streaming => Payload::StreamingSigned { seed: seed(), trailer: false },
            Self::StreamingTrailer => Payload::StreamingSigned { seed: seed(), trailer: true },
            Self::StreamingUnsignedTrailer => Payload::StreamingUnsignedTrailer,
        }
    }
}

/// Treatment of the content of a verified request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Payload {
    /// Accept the content as it arrives; the signature does not cover it.
    Unsigned,
    /// Accept the content as it arrives. The caller MUST compare its SHA-256 at the end, before it
    /// uses the content.
    Sha256([u8; 32]),
    /// The content comes in chunks, each with a signature.
    StreamingSigned {
        /// Verifies the signatures of the chunks, beginning with that of the request.
        seed: ChunkSigner,
        /// True if a signed trailer follows.
        trailer: bool,
    },
    /// In chunks with a trailer, none of them signed.
    StreamingUnsignedTrailer,
}

impl Payload {
    /// The digest, if it was given; for [`Digests`](crate::checksum::Digests).
    #[must_use]
    pub fn sha256(&self) -> Option<[u8; 32]> {
        match self {
            Self::Sha256(digest) => Some(*digest),
            _ => None,
        }
    }

    /// Returns true if the signature says that the content comes in chunks.
    #[must_use]
    pub fn is_streaming(&self) -> bool {
        matches!(self, Self::StreamingSigned { .. } | Self::StreamingUnsignedTrailer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_comes_back() {
        for (word, text) in PayloadHash::WORDS {
            assert_eq!(PayloadHash::parse(text), Ok(word));
            assert_eq!(word.to_text(), text);
        }
        let digest = PayloadHash::Sha256([0xa5; 32]);
        assert_eq!(PayloadHash::parse(&"a5".repeat(32)), Ok(digest));
        assert_eq!(PayloadHash::parse(&"A5".repeat(32)), Ok(digest));
        assert_eq!(digest.to_text(), "a5".repeat(32));
    }

    #[test]
    fn other_values_are_refused() {
        let (short, letter) = ("a5".repeat(31), "g5".repeat(32));
        for wrong in ["", "unsigned-payload", "STREAMING-", short.as_str(), letter.as_str()] {
            assert_eq!(PayloadHash::parse(wrong), Err(SignatureError::InvalidContentSha256));
        }
        for wrong in [
            "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD",
            "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER",
        ] {
            assert_eq!(PayloadHash::parse(wrong), Err(SignatureError::UnsupportedMechanism));
        }
    }
}

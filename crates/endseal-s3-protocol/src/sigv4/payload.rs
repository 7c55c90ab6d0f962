//! How a request says that its content is hashed (`x-amz-content-sha256`).

use std::borrow::Cow;

use super::{ChunkSigner, SignatureError, uri};

/// The value of `x-amz-content-sha256`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PayloadHash {
    /// `UNSIGNED-PAYLOAD`.
    Unsigned,
    /// The digest of the content.
    Sha256([u8; 32]),
    /// `STREAMING-AWS4-HMAC-SHA256-PAYLOAD`: signed chunks.
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

    /// Reads the header.
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

    /// Writes the header.
    #[must_use]
    pub fn to_text(&self) -> Cow<'static, str> {
        match self {
            Self::Sha256(digest) => hex(digest).into(),
            _ => Self::WORDS.iter().find(|(word, _)| word == self).map_or("", |it| it.1).into(),
        }
    }
}

/// How the content of a verified request is to be taken.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Payload {
    /// As it comes; the signature says nothing of it.
    Unsigned,
    /// As it comes. The caller MUST compare its SHA-256 before it takes the content for good.
    Sha256([u8; 32]),
    /// In signed chunks.
    StreamingSigned {
        /// Verifies them.
        seed: ChunkSigner,
        /// Whether a signed trailer follows.
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

    /// Whether the content comes in chunks by what the signature says.
    #[must_use]
    pub fn is_streaming(&self) -> bool {
        matches!(self, Self::StreamingSigned { .. } | Self::StreamingUnsignedTrailer)
    }
}

pub(crate) fn hex(bytes: &[u8; 32]) -> String {
    // Digits are UTF-8.
    str::from_utf8(&hex_digits(bytes)).unwrap_or_default().to_owned()
}

/// The digits of [`hex`].
pub(super) fn hex_digits(bytes: &[u8; 32]) -> [u8; 64] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = [0; 64];
    for (pair, byte) in out.as_chunks_mut().0.iter_mut().zip(bytes) {
        *pair = [byte >> 4, byte & 15].map(|half| DIGITS[usize::from(half)]);
    }
    out
}

/// Of each hexadecimal digit what it stands for; of others more than any of them.
const HALVES: [u8; 256] = {
    let mut halves = [0xff; 256];
    let mut byte = u8::MIN;
    while byte < u8::MAX {
        if let Some(half) = uri::digit(byte) {
            halves[byte as usize] = half;
        }
        byte += 1;
    }
    halves
};

/// 64 hexadecimal digits.
pub(crate) fn digest(text: &[u8]) -> Option<[u8; 32]> {
    let digits: &[u8; 64] = text.try_into().ok()?;
    let mut out = [0; 32];
    let mut all = 0;
    for (byte, pair) in out.iter_mut().zip(digits.as_chunks().0) {
        let [high, low] = pair.map(|digit| HALVES[usize::from(digit)]);
        *byte = high << 4 | low & 15;
        all |= high | low;
    }
    (all < 16).then_some(out)
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

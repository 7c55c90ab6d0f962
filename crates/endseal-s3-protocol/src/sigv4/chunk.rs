//! Signatures of chunks and trailers, each over the one before.

use core::fmt;
use std::sync::Arc;

use endseal_crypto::sha256;

use super::hex::hex;
use super::scope::Scope;
use super::secret::SigningKey;
use super::timestamp::Timestamp;

/// `SHA-256("")`: the place of headers that a chunk does not have.
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The chain of signatures of one chunked upload. It begins with the signature of the request.
#[derive(Clone)]
pub struct ChunkSigner {
    key: Arc<SigningKey>,
    /// Date and scope, each with its line end.
    lines: String,
    last: [u8; 32],
}

impl ChunkSigner {
    pub(super) fn new(
        key: Arc<SigningKey>,
        time: Timestamp,
        scope: &Scope<'_>,
        seed: [u8; 32],
    ) -> Self {
        Self { key, lines: format!("{}\n{}\n", time.to_basic(), scope.signed()), last: seed }
    }

    /// The signature of the next chunk, whose data has this SHA-256; the last chunk is empty.
    pub fn chunk(&mut self, sha256: &[u8; 32]) -> [u8; 32] {
        self.next("AWS4-HMAC-SHA256-PAYLOAD", &format!("{EMPTY}\n{}", hex(sha256)))
    }

    /// The signature of the trailer behind the last chunk: `trailer` is `name:value\n` for each of
    /// its headers.
    pub fn trailer(&mut self, trailer: &[u8]) -> [u8; 32] {
        self.next("AWS4-HMAC-SHA256-TRAILER", &hex(&sha256::digest(trailer)))
    }

    fn next(&mut self, algorithm: &str, end: &str) -> [u8; 32] {
        let text = format!("{algorithm}\n{}{}\n{end}", self.lines, hex(&self.last));
        self.last = self.key.sign(text.as_bytes());
        self.last
    }
}

impl fmt::Debug for ChunkSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChunkSigner")
    }
}

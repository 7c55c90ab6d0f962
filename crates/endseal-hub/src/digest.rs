//! Short digests, by which stored bytes are recognised.

use endseal_crypto::hash;

/// The first 16 bytes of the BLAKE3 digest of `bytes`.
pub(crate) fn short_digest(bytes: &[u8]) -> [u8; 16] {
    let mut short = [0; 16];
    short.copy_from_slice(&hash::digest(bytes)[..16]);
    short
}

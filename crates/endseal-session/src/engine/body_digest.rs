//! Digests that recognise a ciphertext that is delivered again (docs/spec/session.md, "Digests of
//! ciphertexts").

use alloc::sync::Arc;

use endseal_crypto::hash;
use endseal_crypto::label::SESSION_DIGEST;
use endseal_crypto::secret::{constant_time_eq, secret_bytes};
use siphasher::sip128::SipHasher24;

use crate::group::GroupKey;

/// Length of a digest, in bytes.
pub(super) const DIGEST_LEN: usize = 16;

/// Digest of a ciphertext.
pub(super) type BodyDigest = [u8; DIGEST_LEN];

/// Ciphertexts up to this length get the keyed digest. For longer ones BLAKE3 is faster, because it
/// processes several blocks at once.
const SHORT: usize = 4096;

secret_bytes! {
    /// Key of one device's digests. Without it, an attacker cannot find two ciphertexts with equal
    /// digests.
    struct DigestKey[16];
}

/// Makes and compares the digests of one device. Clones share the key.
#[derive(Clone)]
pub(super) struct Recognizer(Arc<DigestKey>);

impl Recognizer {
    /// Derives the digest key from the device's group key.
    pub(super) fn new(key: &GroupKey) -> Self {
        let seed = key.seed().expose_secret();
        let key = DigestKey::init_with(|key| hash::derive_into(SESSION_DIGEST, &[seed], key));
        Self(Arc::new(key))
    }

    /// Returns the digest of a ciphertext.
    pub(super) fn digest(&self, body: &[u8]) -> BodyDigest {
        if body.len() > SHORT {
            return unkeyed(body);
        }
        let hasher = SipHasher24::new_with_key(self.0.expose_secret());
        hasher.hash(body).as_bytes()
    }
}

/// Compares two digests in constant time.
pub(super) fn is_same(before: &BodyDigest, digest: &BodyDigest) -> bool {
    constant_time_eq(before, digest)
}

/// Returns the first 16 bytes of BLAKE3.
fn unkeyed(body: &[u8]) -> BodyDigest {
    let [start @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = hash::digest(body);
    start
}

#[cfg(test)]
mod tests {
    use endseal_crypto::ed25519::Seed;

    use super::*;

    fn recognizer(n: u8) -> Recognizer {
        Recognizer::new(&GroupKey::from_seed(Seed::from_bytes(&[n; 32])))
    }

    #[test]
    fn short_digests_are_siphash_under_the_devices_key_and_long_ones_blake3() {
        let (own, other) = (recognizer(1), recognizer(2));
        for len in [0, 1, 15, 16, 100, SHORT] {
            let body = vec![7; len];
            assert_ne!(own.digest(&body), other.digest(&body), "{len}");
            assert_ne!(own.digest(&body), unkeyed(&body), "{len}");
        }
        let long = vec![7; SHORT + 1];
        assert_eq!(own.digest(&long), unkeyed(&long));
        assert_eq!(other.digest(&long), unkeyed(&long));
    }

    #[test]
    fn siphash_is_that_of_its_authors() {
        // From the vectors of the reference implementation: key 00..0f, message 00..0e.
        let key: [u8; 16] = core::array::from_fn(|i| u8::try_from(i).unwrap());
        let body: Vec<u8> = (0..15).collect();
        let recognizer = Recognizer(Arc::new(DigestKey::from_bytes(&key)));
        let expected = [
            0x54, 0x93, 0xe9, 0x99, 0x33, 0xb0, 0xa8, 0x11, 0x7e, 0x08, 0xec, 0x0f, 0x97, 0xcf,
            0xc3, 0xd9,
        ];
        assert_eq!(recognizer.digest(&body), expected);
    }
}

//! Digest of a request, by which a repetition is known.

use endseal_crypto::sha256::{self, Digest};

use super::Request;
use crate::key::SecretKey;

/// Before the digest, in the key's other uses nothing begins so.
const AUX: &[u8] = b"aux";

impl Request<'_> {
    /// SHA-256 over the lengths (8 bytes each, little-endian) and bytes of id, method and the
    /// parameters that were read.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = Digest::new();
        for text in [self.id, self.method.name()].iter().chain(self.params()) {
            digest.update(&(text.len() as u64).to_le_bytes());
            digest.update(text.as_bytes());
        }
        digest.finish()
    }
}

/// Auxiliary bytes of the signature that answers a request (BIP-340):
/// `HMAC-SHA-256(transport secret key, "aux" || digest)`. A repetition gives the same signature.
#[must_use]
pub fn aux(transport: &SecretKey, digest: &[u8; 32]) -> [u8; 32] {
    sha256::hmac(transport.expose_secret(), &[AUX, digest])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(json: &str) -> [u8; 32] {
        Request::parse(&mut json.as_bytes().to_vec()).unwrap_or_else(|e| panic!("{e}")).digest()
    }

    #[test]
    fn the_digest_is_that_of_lengths_and_texts() {
        let mut bytes = Vec::new();
        for text in ["a1", "ping", "", "é"] {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        let json = r#"{"id":"a1","method":"ping","params":[null,"\u00e9"]}"#;
        assert_eq!(digest(json), sha256::digest(&bytes));
    }

    #[test]
    fn every_part_of_a_request_counts() {
        let requests = [
            r#"{"id":"1","method":"ping","params":[]}"#,
            r#"{"id":"1","method":"ping","params":[""]}"#,
            r#"{"id":"1","method":"pin","params":["g"]}"#,
            r#"{"id":"1p","method":"ing","params":[]}"#,
            r#"{"id":"1","method":"ping","params":["a","b"]}"#,
            r#"{"id":"1","method":"ping","params":["ab",""]}"#,
        ];
        for (i, one) in requests.iter().enumerate() {
            for other in &requests[..i] {
                assert_ne!(digest(one), digest(other), "{one} {other}");
            }
        }
        // Order of members and escapes do not.
        let same = r#"{"params":[],"method":"p\u0069ng","id":"1","x":1}"#;
        assert_eq!(digest(same), digest(requests[0]));
    }

    #[test]
    fn aux_depends_on_key_and_digest() {
        let key = |byte| SecretKey::from_bytes(&[byte; 32]).unwrap();
        assert_eq!(aux(&key(1), &[2; 32]), sha256::hmac(&[1; 32], &[b"aux", &[2; 32]]));
        assert_ne!(aux(&key(1), &[2; 32]), aux(&key(2), &[2; 32]));
        assert_ne!(aux(&key(1), &[2; 32]), aux(&key(1), &[3; 32]));
    }
}

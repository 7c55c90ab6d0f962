//! SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104), as protocols of others ask for them.
//!
//! Formats of this project use BLAKE3 ([`hash`](crate::hash)). Only with the feature `std`.

use alloc::boxed::Box;

use aws_lc_rs::digest as backend;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::ZeroizeOnDrop;

/// Length of a digest and of a MAC in bytes.
pub const LEN: usize = 32;

/// `SHA-256(data)`.
#[must_use]
pub fn digest(data: &[u8]) -> [u8; LEN] {
    let mut out = [0; LEN];
    out.copy_from_slice(backend::digest(&backend::SHA256, data).as_ref());
    out
}

/// `HMAC-SHA-256(key, part_0 || part_1 || …)`.
///
/// The concatenation is not framed: the caller MUST make it unambiguous. MACs MUST be compared with
/// [`constant_time_eq`](crate::secret::constant_time_eq).
#[must_use]
pub fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; LEN] {
    HmacKey::new(key).mac(parts)
}

/// A key of HMAC-SHA-256 that is prepared for many MACs: each costs two compressions less. Wiped
/// when dropped.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct HmacKey(Box<Hmac<Sha256>>);

impl ZeroizeOnDrop for HmacKey {}

impl HmacKey {
    /// Prepares a key of any length, which the caller MUST wipe.
    #[must_use]
    #[allow(clippy::missing_panics_doc, clippy::expect_used)]
    pub fn new(key: &[u8]) -> Self {
        let key = Hmac::new_from_slice(key).expect("HMAC takes keys of any length");
        Self(Box::new(key))
    }

    /// `HMAC-SHA-256(key, part_0 || part_1 || …)`, with the duties of [`hmac()`].
    #[must_use]
    pub fn mac(&self, parts: &[&[u8]]) -> [u8; LEN] {
        let mut hmac = (*self.0).clone();
        for part in parts {
            hmac.update(part);
        }
        hmac.finalize().into_bytes().into()
    }
}

super::sha2_digest::digest!(SHA256, LEN);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_whole_agree_with_the_twin() {
        use sha2::Digest as _;
        let data: alloc::vec::Vec<u8> = (0..1_000_u32).map(|i| i.to_le_bytes()[0]).collect();
        for len in [0, 1, 55, 56, 63, 64, 65, 1_000] {
            let mut pieces = Digest::new();
            for piece in data[..len].chunks(7) {
                pieces.update(piece);
            }
            let twin: [u8; LEN] = Sha256::digest(&data[..len]).into();
            assert_eq!(pieces.finish(), twin);
            assert_eq!(digest(&data[..len]), twin);
        }
    }

    /// RFC 4231, test cases 2 and 3.
    #[test]
    fn hmac_gives_the_published_macs() {
        let mac = hmac(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        assert_eq!(mac[..4], [0x5b, 0xdc, 0xc1, 0x46]);
        assert_eq!(mac[28..], [0x64, 0xec, 0x38, 0x43]);
        let mac = hmac(&[0xaa; 20], &[&[0xdd; 50]]);
        assert_eq!(mac[..4], [0x77, 0x3e, 0xa9, 0x1e]);
        assert_eq!(mac[28..], [0xce, 0xd5, 0x65, 0xfe]);
        let key = HmacKey::new(&[0xaa; 20]);
        for _ in 0..3 {
            assert_eq!(key.mac(&[&[0xdd; 20], &[0xdd; 30]]), mac);
            assert_ne!(key.mac(&[]), mac);
        }
    }
}

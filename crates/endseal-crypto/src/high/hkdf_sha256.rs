//! HKDF-SHA-256 (RFC 5869), as protocols of others ask for it.
//!
//! Formats of this project use HKDF-SHA-512 (`hkdf`). Works without an allocator.

use core::fmt;

use crate::low::wipe::wipe;
use crate::sha256::{HmacKey, LEN, hmac};

/// Longest output of [`expand`] in bytes: 255 hash lengths (RFC 5869, 2.3).
pub const MAX_OUTPUT: usize = 255 * LEN;

crate::secret_bytes! {
    /// A pseudorandom key (RFC 5869, 2.2), from which any number of keys are expanded.
    pub inline struct PseudorandomKey[32];
}

impl PseudorandomKey {
    /// Prepares the key for [`expand`]: each use then costs two compressions less.
    #[must_use]
    pub fn prepare(&self) -> HmacKey {
        HmacKey::new(self.expose_secret())
    }
}

/// `HKDF-Extract-SHA-256(salt, secret) = HMAC-SHA-256(salt, secret)`. An empty salt is one of 32
/// zeros, as the RFC says.
///
/// `secret` may have any length and structure; the caller MUST wipe it.
#[must_use]
pub fn extract(salt: &[u8], secret: &[u8]) -> PseudorandomKey {
    let mut mac = hmac(salt, &[secret]);
    let key = PseudorandomKey::from_bytes(&mac);
    wipe(&mut mac);
    key
}

/// `HKDF-Expand-SHA-256(prk, info_0 || info_1 || …, out.len())`.
///
/// `prk` MUST be that of a uniformly random key or of [`PseudorandomKey::prepare`]. The
/// concatenation is not framed: the caller MUST make it unambiguous.
///
/// # Errors
/// [`OutputTooLong`] beyond [`MAX_OUTPUT`]; `out` is then as it was.
pub fn expand(prk: &HmacKey, info: &[&[u8]], out: &mut [u8]) -> Result<(), OutputTooLong> {
    if out.len() > MAX_OUTPUT {
        return Err(OutputTooLong);
    }
    let mut block = [0; LEN];
    for (counter, out) in (1_u8..=255).zip(out.chunks_mut(LEN)) {
        let mut mac = prk.start();
        // T(0) is the empty string.
        if counter > 1 {
            mac.update(&block);
        }
        for part in info {
            mac.update(part);
        }
        mac.update(&[counter]);
        block = mac.tag();
        out.copy_from_slice(&block[..out.len()]);
    }
    wipe(&mut block);
    Ok(())
}

/// More output was asked for than HKDF can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputTooLong;

impl fmt::Display for OutputTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HKDF cannot give that much output")
    }
}

impl core::error::Error for OutputTooLong {}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::unhex::unhex;

    /// RFC 5869, appendix A, test cases 1 to 3.
    #[test]
    fn the_published_outputs_come_out() {
        let counted = |from: u8, len: u8| (from..from + len).collect::<Vec<u8>>();
        let cases = [
            (
                counted(0, 13),
                vec![0x0b; 22],
                counted(0xf0, 10),
                "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5",
                "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b8
                 87185865",
            ),
            (
                counted(0x60, 80),
                counted(0, 80),
                (0xb0..=0xff).collect(),
                "06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244",
                "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7
                 827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5
                 c1f3434f1d87",
            ),
            (
                vec![],
                vec![0x0b; 22],
                vec![],
                "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04",
                "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4
                 b61a96c8",
            ),
        ];
        for (salt, secret, info, prk, okm) in cases {
            let key = extract(&salt, &secret);
            assert_eq!(key.expose_secret()[..], unhex(prk));
            let okm = unhex(okm);
            let (head, tail) = info.split_at(info.len() / 2);
            // A shorter output is the beginning of a longer one.
            for len in 0..=okm.len() {
                let mut out = vec![0; len];
                expand(&key.prepare(), &[head, tail], &mut out).unwrap();
                assert_eq!(out, okm[..len]);
            }
        }
    }

    #[test]
    fn output_ends_at_255_hash_lengths() {
        let prk = extract(b"salt", b"secret").prepare();
        let mut out = vec![0; MAX_OUTPUT + 1];
        assert_eq!(expand(&prk, &[], &mut out), Err(OutputTooLong));
        assert!(out.iter().all(|&byte| byte == 0), "nothing was written");
        expand(&prk, &[], &mut out[..MAX_OUTPUT]).unwrap();
        let (before, last) = out[MAX_OUTPUT - 2 * LEN..MAX_OUTPUT].split_at(LEN);
        assert_eq!(last, prk.mac(&[before, &[255]]));
    }

    #[cfg(feature = "aws-lc")]
    #[test]
    fn outputs_are_those_of_aws_lc() {
        use aws_lc_rs::hkdf;

        struct Len(usize);
        impl hkdf::KeyType for Len {
            fn len(&self) -> usize {
                self.0
            }
        }
        let info: [&[u8]; 2] = [b"one", b"two"];
        for len in [1, 31, 32, 33, 76, 1_000, MAX_OUTPUT] {
            let twin = hkdf::Salt::new(hkdf::HKDF_SHA256, b"nip44-v2").extract(&[5; 32]);
            let (mut own, mut expected) = (vec![0; len], vec![0; len]);
            twin.expand(&info, Len(len)).unwrap().fill(&mut expected).unwrap();
            expand(&extract(b"nip44-v2", &[5; 32]).prepare(), &info, &mut own).unwrap();
            assert_eq!(own, expected, "{len}");
        }
    }
}

//! From a passphrase to a key: scrypt (RFC 7914), for formats that ask for it. New formats take
//! [`argon2id`](crate::argon2id).

use core::fmt;

use crate::mid::scrypt::backend;

/// Greatest cost exponent: N is at most 2^32.
pub const MAX_LOG_N: u8 = 32;
/// Greatest parallelisation. The lanes are computed one after the other in the same memory, so that
/// time is bounded by this times the memory.
pub const MAX_P: u32 = 16;

crate::secret_bytes! {
    /// Key that scrypt derives from a passphrase.
    pub struct Stretched[32];
}

/// `scrypt(passphrase, salt, N = 2^log_n, r, p, dkLen = 32)`.
///
/// It takes [`memory`] bytes, which are at most `max_memory`. AWS-LC wipes them; without it that is
/// left to the allocator. Everything is checked
/// before anything is allocated. The caller MUST choose `max_memory` itself, because the other
/// parameters may come from an untrusted file.
///
/// # Errors
/// [`ScryptError`]; nothing is derived.
pub fn derive(
    passphrase: &[u8],
    salt: &[u8],
    log_n: u8,
    r: u32,
    p: u32,
    max_memory: usize,
) -> Result<Stretched, ScryptError> {
    Stretched::try_init_with(|out| derive_into(passphrase, salt, log_n, r, p, max_memory, out))
}

/// [`derive()`] with as many bytes as `out` has, for formats that take several keys of one
/// passphrase. The caller MUST wipe `out`.
///
/// # Errors
/// [`ScryptError`]; `out` is as it was, or zero.
pub fn derive_into(
    passphrase: &[u8],
    salt: &[u8],
    log_n: u8,
    r: u32,
    p: u32,
    max_memory: usize,
    out: &mut [u8],
) -> Result<(), ScryptError> {
    // RFC 7914, 6: N is above 1 and below 2^(128 r / 8), p at most (2^32 - 1) * 32 / (128 r).
    let in_range = (1..=MAX_LOG_N).contains(&log_n)
        && r >= 1
        && u64::from(log_n) < 16 * u64::from(r)
        && (1..=MAX_P).contains(&p)
        && u64::from(r) * u64::from(p) < 1 << 30;
    if !in_range {
        return Err(ScryptError::OutOfRange);
    }
    if memory(log_n, r, p).is_none_or(|needed| needed > max_memory) {
        return Err(ScryptError::AboveLimit);
    }
    backend::derive(passphrase, salt, log_n, r, p, max_memory, out).ok_or(ScryptError::NoMemory)
}

/// Memory in bytes that [`derive()`] takes: `128 * r * (2^log_n + p + 1)`. `None` if a machine
/// cannot address it.
#[must_use]
pub fn memory(log_n: u8, r: u32, p: u32) -> Option<usize> {
    let blocks = 1_u128.checked_shl(log_n.into())? + u128::from(p) + 1;
    let bytes = blocks.checked_mul(128 * u128::from(r))?;
    usize::try_from(bytes).ok()
}

/// Error of a derivation: the reason why there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScryptError {
    /// The parameters need more memory than the caller allows. They come from a hostile file, or
    /// from a larger machine.
    AboveLimit,
    /// The memory, which is allowed, could not be had.
    NoMemory,
    /// A parameter is out of the range of RFC 7914, or p above [`MAX_P`].
    OutOfRange,
}

impl fmt::Display for ScryptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AboveLimit => "scrypt needs more memory than is allowed",
            Self::NoMemory => "there is not as much memory as scrypt needs",
            Self::OutOfRange => "parameters of scrypt are out of range",
        })
    }
}

impl core::error::Error for ScryptError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7914, 12, without the last vector, which takes 1 GiB. The keys there have 64 bytes, of
    /// which a shorter key is the beginning.
    #[test]
    fn the_function_is_that_of_rfc_7914() {
        let vectors = [
            ("", "", 4, 1, 1, EMPTY),
            ("password", "NaCl", 10, 8, 16, PASSWORD),
            ("pleaseletmein", "SodiumChloride", 14, 8, 1, PLEASE),
        ];
        for (passphrase, salt, log_n, r, p, expected) in vectors {
            let (passphrase, salt) = (passphrase.as_bytes(), salt.as_bytes());
            let limit = memory(log_n, r, p).unwrap();
            let key = derive(passphrase, salt, log_n, r, p, limit).ok().unwrap();
            assert_eq!(key.expose_secret()[..], expected[..32], "{log_n}");
            let below = derive(passphrase, salt, log_n, r, p, limit - 1).err();
            assert_eq!(below, Some(ScryptError::AboveLimit), "{log_n}");
            let mut whole = [0; 64];
            derive_into(passphrase, salt, log_n, r, p, limit, &mut whole).unwrap();
            assert_eq!(whole, expected, "{log_n}");
        }
    }

    #[test]
    fn bounds_are_exact() {
        let out_of_range = |log_n, r, p| {
            let error = derive(b"", b"", log_n, r, p, 1 << 20).err();
            assert_ne!(error, Some(ScryptError::NoMemory), "{log_n} {r} {p}");
            error == Some(ScryptError::OutOfRange)
        };
        assert!(out_of_range(0, 8, 1) && !out_of_range(1, 8, 1));
        assert!(out_of_range(33, 8, 1) && !out_of_range(32, 8, 1));
        assert!(out_of_range(u8::MAX, u32::MAX, 1));
        assert!(out_of_range(4, 0, 1) && !out_of_range(4, 1, 1));
        assert!(out_of_range(16, 1, 1) && !out_of_range(15, 1, 1));
        assert!(out_of_range(4, 1, 0) && !out_of_range(4, 1, MAX_P));
        assert!(out_of_range(4, 1, MAX_P + 1) && out_of_range(4, 1, u32::MAX));
        assert!(out_of_range(4, (1 << 30) / 16, 16) && !out_of_range(4, (1 << 30) / 16 - 1, 16));
        assert!(out_of_range(32, u32::MAX, 1));
    }

    /// NIP-49 allows 4 GiB, which a text from elsewhere must not make this machine give.
    #[test]
    fn memory_is_known_before_it_is_allocated() {
        assert_eq!(memory(16, 8, 1), Some((64 << 20) + 2 * 1024));
        assert_eq!(memory(22, 8, 1).unwrap(), (4 << 30) + 2 * 1024);
        assert_eq!(memory(0, 0, 0), Some(0));
        assert_eq!(memory(u8::MAX, u32::MAX, u32::MAX), None);
        assert_eq!(memory(64, 1, 1), None);
        for log_n in 17..=32 {
            let refused = derive(b"", b"", log_n, 8, 1, (64 << 20) + 2 * 1024).err();
            assert_eq!(refused, Some(ScryptError::AboveLimit), "{log_n}");
        }
    }

    const EMPTY: [u8; 64] = [
        0x77, 0xd6, 0x57, 0x62, 0x38, 0x65, 0x7b, 0x20, 0x3b, 0x19, 0xca, 0x42, 0xc1, 0x8a, 0x04,
        0x97, 0xf1, 0x6b, 0x48, 0x44, 0xe3, 0x07, 0x4a, 0xe8, 0xdf, 0xdf, 0xfa, 0x3f, 0xed, 0xe2,
        0x14, 0x42, 0xfc, 0xd0, 0x06, 0x9d, 0xed, 0x09, 0x48, 0xf8, 0x32, 0x6a, 0x75, 0x3a, 0x0f,
        0xc8, 0x1f, 0x17, 0xe8, 0xd3, 0xe0, 0xfb, 0x2e, 0x0d, 0x36, 0x28, 0xcf, 0x35, 0xe2, 0x0c,
        0x38, 0xd1, 0x89, 0x06,
    ];
    const PASSWORD: [u8; 64] = [
        0xfd, 0xba, 0xbe, 0x1c, 0x9d, 0x34, 0x72, 0x00, 0x78, 0x56, 0xe7, 0x19, 0x0d, 0x01, 0xe9,
        0xfe, 0x7c, 0x6a, 0xd7, 0xcb, 0xc8, 0x23, 0x78, 0x30, 0xe7, 0x73, 0x76, 0x63, 0x4b, 0x37,
        0x31, 0x62, 0x2e, 0xaf, 0x30, 0xd9, 0x2e, 0x22, 0xa3, 0x88, 0x6f, 0xf1, 0x09, 0x27, 0x9d,
        0x98, 0x30, 0xda, 0xc7, 0x27, 0xaf, 0xb9, 0x4a, 0x83, 0xee, 0x6d, 0x83, 0x60, 0xcb, 0xdf,
        0xa2, 0xcc, 0x06, 0x40,
    ];
    const PLEASE: [u8; 64] = [
        0x70, 0x23, 0xbd, 0xcb, 0x3a, 0xfd, 0x73, 0x48, 0x46, 0x1c, 0x06, 0xcd, 0x81, 0xfd, 0x38,
        0xeb, 0xfd, 0xa8, 0xfb, 0xba, 0x90, 0x4f, 0x8e, 0x3e, 0xa9, 0xb5, 0x43, 0xf6, 0x54, 0x5d,
        0xa1, 0xf2, 0xd5, 0x43, 0x29, 0x55, 0x61, 0x3f, 0x0f, 0xcf, 0x62, 0xd4, 0x97, 0x05, 0x24,
        0x2a, 0x9a, 0xf9, 0xe6, 0x1e, 0x85, 0xdc, 0x0d, 0x65, 0x1e, 0x40, 0xdf, 0xcf, 0x01, 0x7b,
        0x45, 0x57, 0x58, 0x87,
    ];
}

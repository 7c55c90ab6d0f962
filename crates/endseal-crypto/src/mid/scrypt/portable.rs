//! scrypt of RustCrypto. It does not wipe its memory: a program without AWS-LC has an allocator
//! that zeroes what it frees.

use alloc::vec::Vec;

use scrypt::Params;

use crate::low::wipe::wipe;

/// `scrypt(passphrase, salt, N = 2^log_n, r, p, dkLen = out.len())` in at most `max_memory` bytes.
///
/// `None`, and `out` is zero, if the parameters are out of range, need more memory, or there is not
/// as much.
pub(crate) fn derive(
    passphrase: &[u8],
    salt: &[u8],
    log_n: u8,
    r: u32,
    p: u32,
    max_memory: usize,
    out: &mut [u8],
) -> Option<()> {
    wipe(out);
    // RFC 7914 has N above 1, and the library takes it.
    let params = Params::new(log_n, r, p).ok().filter(|_| log_n > 0)?;
    let blocks = 1_usize.checked_shl(log_n.into())?.checked_add(usize::try_from(p).ok()? + 1)?;
    let needed = blocks.checked_mul(usize::try_from(r).ok()?.checked_mul(128)?)?;
    // Without so much memory the library would abort the program.
    if needed > max_memory || Vec::<u8>::new().try_reserve_exact(needed).is_err() {
        return None;
    }
    scrypt::scrypt(passphrase, salt, &params, out).inspect_err(|_| wipe(out)).ok()
}

#[cfg(test)]
#[cfg(feature = "aws-lc")]
mod tests {
    use super::derive;
    use crate::low::scrypt_ffi;

    #[test]
    fn both_back_ends_give_the_same_bytes() {
        for (log_n, r, p) in [(1, 1, 1), (4, 8, 1), (10, 8, 2), (3, 1, 16)] {
            for len in [1, 32, 100] {
                let (mut own, mut other) = ([1; 100], [2; 100]);
                derive(b"a password", b"salt", log_n, r, p, 1 << 24, &mut own[..len]).unwrap();
                let other = &mut other[..len];
                scrypt_ffi::derive(b"a password", b"salt", log_n, r, p, 1 << 24, other).unwrap();
                assert_eq!(own[..len], *other, "{log_n} {r} {p}");
            }
        }
    }

    #[test]
    fn nothing_is_left_in_the_output_of_a_failure() {
        for (log_n, max_memory) in [(0, 1 << 20), (64, 1 << 20), (10, 1 << 10)] {
            let mut out = [1; 64];
            assert!(derive(b"", b"", log_n, 8, 1, max_memory, &mut out).is_none(), "{log_n}");
            assert_eq!(out, [0; 64]);
        }
    }
}

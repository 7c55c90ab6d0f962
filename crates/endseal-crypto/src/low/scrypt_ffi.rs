//! scrypt (RFC 7914) of AWS-LC, which the safe wrapper `aws-lc-rs` does not have.

use aws_lc_sys::EVP_PBE_scrypt;

use super::wipe::wipe;

/// `scrypt(passphrase, salt, N = 2^log_n, r, p, dkLen = out.len())` in at most `max_memory` bytes.
///
/// `None`, and `out` is zero, if the parameters are out of range, need more memory, or there is not
/// as much. AWS-LC wipes its memory.
pub(crate) fn derive(
    passphrase: &[u8],
    salt: &[u8],
    log_n: u8,
    r: u32,
    p: u32,
    max_memory: usize,
    out: &mut [u8],
) -> Option<()> {
    // AWS-LC refuses 0 as it refuses everything above 2^32.
    let n = 1_u64.checked_shl(log_n.into()).unwrap_or(0);
    // SAFETY: each pointer has as many bytes as the length behind it says, readable ones, and
    // writable ones in `out`, which is an exclusive borrow.
    let done = unsafe {
        EVP_PBE_scrypt(
            passphrase.as_ptr().cast(),
            passphrase.len(),
            salt.as_ptr(),
            salt.len(),
            n,
            r.into(),
            p.into(),
            max_memory,
            out.as_mut_ptr(),
            out.len(),
        )
    };
    if done != 1 {
        wipe(out);
        return None;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::derive;

    #[test]
    fn nothing_is_left_in_the_output_of_a_failure() {
        for (log_n, max_memory) in [(0, 1 << 20), (64, 1 << 20), (10, 1 << 10)] {
            let mut out = [1; 64];
            assert!(derive(b"", b"", log_n, 8, 1, max_memory, &mut out).is_none(), "{log_n}");
            assert_eq!(out, [0; 64]);
        }
    }
}

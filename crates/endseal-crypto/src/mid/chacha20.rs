//! ChaCha20 (RFC 8439) with a counter of 32 bits: encryption without authentication, for protocols
//! of others that authenticate by other means.
//!
//! Formats of this project use `segment`.

use core::fmt;

use crate::low::chacha20 as kernel;

/// Length of a block of keystream in bytes.
pub const BLOCK_LEN: usize = kernel::BLOCK;

/// XORs keystream to `data`, which encrypts and decrypts: `data ^= ChaCha20(key, counter, nonce)`
/// (RFC 8439, section 2.4).
///
/// Block i of `data` has the counter `counter + i`. Data may be processed in pieces, with the same
/// result, if all pieces but the last are multiples of [`BLOCK_LEN`] and each continues with the
/// next counter. Pieces of 1 KiB and its multiples are fastest.
///
/// A key, a nonce and a counter MUST be used for one block only: two texts with the same keystream
/// reveal their XOR. The ciphertext MUST be authenticated, and checked before it is decrypted: a
/// bit that is changed in it is changed in the plaintext. The caller wipes the key.
///
/// # Errors
/// [`CounterOverflow`] if a block would have a counter above 2^32 - 1: with more than 256 GiB from
/// counter 0. `data` is unchanged.
pub fn apply_keystream(
    key: &[u8; 32],
    nonce: &[u8; 12],
    counter: u32,
    data: &mut [u8],
) -> Result<(), CounterOverflow> {
    let Some(last) = data.len().checked_sub(1) else { return Ok(()) };
    // Where 2^32 blocks are more than a `usize` counts, there are not as many.
    let blocks_left = usize::try_from(u32::MAX - counter).unwrap_or(usize::MAX);
    if last / BLOCK_LEN > blocks_left {
        return Err(CounterOverflow);
    }
    kernel::apply_keystream(kernel::Kernel::for_len(data.len()), key, nonce, counter, data);
    Ok(())
}

/// The data has more blocks than there are counters left. Nothing was encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CounterOverflow;

impl fmt::Display for CounterOverflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the data has more blocks than there are counters left")
    }
}

impl core::error::Error for CounterOverflow {}

//! AES-256-CBC (NIST SP 800-38A, 6.2) with PKCS #7 padding (RFC 5652, 6.3), for older protocols
//! that require it. It works in buffers of the caller.
//!
//! CBC authenticates nothing: an attacker who can change a ciphertext changes the plaintext, and
//! decryption does not notice it. Content of this project belongs into `segment`. Unless a MAC was
//! checked before, the result of the padding check MUST NOT reach an unauthenticated peer, neither
//! as an error of its own nor as a difference in time: it is an oracle that decrypts whole
//! ciphertexts.
//!
//! Works without an allocator.

use core::fmt;

use aes::{Aes256Dec, Aes256Enc};
use cbc::cipher::{Array, BlockModeDecrypt as _, BlockModeEncrypt as _, KeyIvInit as _};
use subtle::{ConstantTimeEq as _, ConstantTimeGreater as _};

use super::buffer::BufferTooSmall;
use crate::secret::declassify;

#[cfg(test)]
mod tests;

/// Length of a key in bytes.
pub const KEY_LEN: usize = 32;
/// Length of a block and of an initialisation vector in bytes.
pub const BLOCK_LEN: usize = 16;

/// Length of the ciphertext of `len` bytes: the next greater multiple of [`BLOCK_LEN`].
#[must_use]
pub const fn ciphertext_len(len: usize) -> usize {
    // It saturates where no slice is as long.
    (len / BLOCK_LEN + 1).saturating_mul(BLOCK_LEN)
}

/// Pads and encrypts `buffer[..len]` where it lies, and returns the length of the ciphertext,
/// [`ciphertext_len`]`(len)`. Nothing behind that is written.
///
/// `iv` MUST be 16 random bytes that are used for nothing else; the ciphertext does not hold them.
///
/// # Errors
/// [`BufferTooSmall`] if `buffer` is shorter than plaintext and padding.
pub fn encrypt(
    key: &[u8; KEY_LEN],
    iv: &[u8; BLOCK_LEN],
    buffer: &mut [u8],
    len: usize,
) -> Result<usize, BufferTooSmall> {
    let padded = ciphertext_len(len);
    let text = buffer.get_mut(..padded).ok_or(BufferTooSmall)?;
    // 1 to 16.
    text[len..].fill((padded - len).to_le_bytes()[0]);
    let blocks = Array::cast_slice_from_core_mut(text.as_chunks_mut().0);
    cbc::Encryptor::<Aes256Enc>::new(key.into(), iv.into()).encrypt_blocks(blocks);
    Ok(padded)
}

/// Decrypts `buffer` where it lies and returns the length of the plaintext, which is at its
/// beginning; padding is behind it.
///
/// # Errors
/// [`InvalidCiphertext`]. `buffer` is as it was if its length is the reason, and else all zero.
pub fn decrypt(
    key: &[u8; KEY_LEN],
    iv: &[u8; BLOCK_LEN],
    buffer: &mut [u8],
) -> Result<usize, InvalidCiphertext> {
    let (blocks, []) = buffer.as_chunks_mut::<BLOCK_LEN>() else { return Err(InvalidCiphertext) };
    cbc::Decryptor::<Aes256Dec>::new(key.into(), iv.into())
        .decrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    let padding = blocks.last().ok_or(InvalidCiphertext).and_then(padding_len);
    match padding {
        Ok(padding) => Ok(buffer.len() - padding),
        Err(error) => {
            buffer.fill(0);
            Err(error)
        }
    }
}

/// Length of the padding at the end of the last block, without a branch on the block before the
/// verdict.
fn padding_len(block: &[u8; BLOCK_LEN]) -> Result<usize, InvalidCiphertext> {
    const LONGEST: u8 = 16;
    let len = block[BLOCK_LEN - 1];
    let mut wrong = len.ct_eq(&0) | len.ct_gt(&LONGEST);
    for (distance, byte) in (0..LONGEST).zip(block.iter().rev()) {
        wrong |= len.ct_gt(&distance) & byte.ct_ne(&len);
    }
    if declassify(wrong.unwrap_u8()) == 0 {
        Ok(declassify(len).into())
    } else {
        Err(InvalidCiphertext)
    }
}

/// A ciphertext is empty, not whole blocks long, or its padding is wrong: the key or the
/// initialisation vector is another one, or the ciphertext was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidCiphertext;

impl fmt::Display for InvalidCiphertext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a ciphertext of this key")
    }
}

impl core::error::Error for InvalidCiphertext {}

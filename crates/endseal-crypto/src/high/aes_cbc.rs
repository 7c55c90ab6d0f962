//! AES-256-CBC (NIST SP 800-38A, 6.2) with PKCS #7 padding (RFC 5652, 6.3), for older protocols
//! that require it. It works in buffers of the caller.
//!
//! CBC authenticates nothing: an attacker who can change a ciphertext changes the plaintext, and
//! decryption does not notice it. Content of this project belongs into `segment`. Unless a MAC was
//! checked before, the result of the padding check MUST NOT reach an unauthenticated peer, neither
//! as an error of its own nor as a difference in time: it is an oracle that decrypts whole
//! ciphertexts.
//!
//! Works without an allocator. Chips with a peripheral for AES implement [`Aes256`].

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

/// AES-256 (FIPS 197) as a peripheral computes it, for [`encrypt_with`] and [`decrypt_with`].
///
/// The methods for single blocks are enough. A peripheral that chains blocks by itself overrides
/// the methods for CBC, too. There are no errors: an implementation waits until its peripheral is
/// free, and MUST give the same bytes as [`Software`]. It SHOULD erase the key from the registers
/// of the peripheral when it is dropped.
pub trait Aes256 {
    /// Encrypts one block where it lies.
    fn encrypt_block(&mut self, key: &[u8; KEY_LEN], block: &mut [u8; BLOCK_LEN]);

    /// Decrypts one block where it lies.
    fn decrypt_block(&mut self, key: &[u8; KEY_LEN], block: &mut [u8; BLOCK_LEN]);

    /// Encrypts whole blocks in CBC mode where they lie.
    fn encrypt_cbc(
        &mut self,
        key: &[u8; KEY_LEN],
        iv: &[u8; BLOCK_LEN],
        blocks: &mut [[u8; BLOCK_LEN]],
    ) {
        let mut before = *iv;
        for block in blocks {
            xor(block, &before);
            self.encrypt_block(key, block);
            before = *block;
        }
    }

    /// Decrypts whole blocks in CBC mode where they lie.
    fn decrypt_cbc(
        &mut self,
        key: &[u8; KEY_LEN],
        iv: &[u8; BLOCK_LEN],
        blocks: &mut [[u8; BLOCK_LEN]],
    ) {
        let mut before = *iv;
        for block in blocks {
            let ciphertext = *block;
            self.decrypt_block(key, block);
            xor(block, &before);
            before = ciphertext;
        }
    }
}

fn xor(block: &mut [u8; BLOCK_LEN], other: &[u8; BLOCK_LEN]) {
    for (byte, other) in block.iter_mut().zip(other) {
        *byte ^= other;
    }
}

/// AES-256 in software, in constant time.
#[allow(clippy::exhaustive_structs, reason = "callers construct it")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Software;

impl Aes256 for Software {
    fn encrypt_block(&mut self, key: &[u8; KEY_LEN], block: &mut [u8; BLOCK_LEN]) {
        self.encrypt_cbc(key, &[0; BLOCK_LEN], core::array::from_mut(block));
    }

    fn decrypt_block(&mut self, key: &[u8; KEY_LEN], block: &mut [u8; BLOCK_LEN]) {
        self.decrypt_cbc(key, &[0; BLOCK_LEN], core::array::from_mut(block));
    }

    fn encrypt_cbc(
        &mut self,
        key: &[u8; KEY_LEN],
        iv: &[u8; BLOCK_LEN],
        blocks: &mut [[u8; BLOCK_LEN]],
    ) {
        cbc::Encryptor::<Aes256Enc>::new(key.into(), iv.into())
            .encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    }

    fn decrypt_cbc(
        &mut self,
        key: &[u8; KEY_LEN],
        iv: &[u8; BLOCK_LEN],
        blocks: &mut [[u8; BLOCK_LEN]],
    ) {
        cbc::Decryptor::<Aes256Dec>::new(key.into(), iv.into())
            .decrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    }
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
    encrypt_with(&mut Software, key, iv, buffer, len)
}

/// Does the same as [`encrypt`] by another implementation of AES.
///
/// # Errors
/// Those of [`encrypt`].
pub fn encrypt_with(
    aes: &mut impl Aes256,
    key: &[u8; KEY_LEN],
    iv: &[u8; BLOCK_LEN],
    buffer: &mut [u8],
    len: usize,
) -> Result<usize, BufferTooSmall> {
    let padded = ciphertext_len(len);
    let text = buffer.get_mut(..padded).ok_or(BufferTooSmall)?;
    // 1 to 16.
    text[len..].fill((padded - len).to_le_bytes()[0]);
    aes.encrypt_cbc(key, iv, text.as_chunks_mut().0);
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
    decrypt_with(&mut Software, key, iv, buffer)
}

/// Does the same as [`decrypt`] by another implementation of AES.
///
/// # Errors
/// Those of [`decrypt`].
pub fn decrypt_with(
    aes: &mut impl Aes256,
    key: &[u8; KEY_LEN],
    iv: &[u8; BLOCK_LEN],
    buffer: &mut [u8],
) -> Result<usize, InvalidCiphertext> {
    let (blocks, []) = buffer.as_chunks_mut::<BLOCK_LEN>() else { return Err(InvalidCiphertext) };
    aes.decrypt_cbc(key, iv, blocks);
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

//! AES-256-EME (Halevi and Rogaway, "A Parallelizable Enciphering Mode", 2003): a cipher whose
//! block is as long as the text, for formats of others that are read.
//!
//! It is deterministic and authenticates nothing: every text of a valid length decrypts. Names of
//! this project are encrypted with [`aes_siv`](crate::aes_siv).

use aes::Aes256;
use aes::cipher::{BlockCipherDecrypt as _, BlockCipherEncrypt as _, KeyInit as _};

/// Length of a key in bytes.
pub const KEY_LEN: usize = 32;
/// Length of a block of AES and of a tweak in bytes.
pub const BLOCK_LEN: usize = 16;
/// Greatest number of blocks in a text.
pub const MAX_BLOCKS: usize = 128;

type Block = [u8; BLOCK_LEN];

/// Decrypts `text` where it lies. `None`, and nothing is changed, if it is not 1 to [`MAX_BLOCKS`]
/// blocks long.
pub fn decrypt(key: &[u8; KEY_LEN], tweak: &Block, text: &mut [u8]) -> Option<()> {
    let aes = Aes256::new(key.into());
    transform(&aes, tweak, text, |block| aes.decrypt_block(block.into()))
}

fn transform(
    aes: &Aes256,
    tweak: &Block,
    text: &mut [u8],
    cipher: impl Fn(&mut Block),
) -> Option<()> {
    let (blocks, []) = text.as_chunks_mut::<BLOCK_LEN>() else { return None };
    if blocks.is_empty() || blocks.len() > MAX_BLOCKS {
        return None;
    }
    // L = 2 AES(0), and block j is masked with 2^(j - 1) L.
    let mut first_mask = [0; BLOCK_LEN];
    aes.encrypt_block((&mut first_mask).into());
    first_mask = doubled(first_mask);
    let mut mask = first_mask;
    let mut sum = *tweak;
    for block in &mut *blocks {
        xor(block, &mask);
        mask = doubled(mask);
        cipher(block);
        xor(&mut sum, block);
    }
    let mut mixed = sum;
    cipher(&mut mixed);
    let mut offset = sum;
    xor(&mut offset, &mixed);
    let mut first = mixed;
    xor(&mut first, tweak);
    let (head, rest) = blocks.split_first_mut()?;
    for block in rest {
        offset = doubled(offset);
        xor(block, &offset);
        xor(&mut first, block);
    }
    *head = first;
    mask = first_mask;
    for block in blocks {
        cipher(block);
        xor(block, &mask);
        mask = doubled(mask);
    }
    Some(())
}

/// Multiplies by 2 in GF(2^128), the first byte being the least significant.
fn doubled(block: Block) -> Block {
    let number = u128::from_le_bytes(block);
    let carry = (number >> 127).wrapping_neg() & 0x87;
    (number << 1 ^ carry).to_le_bytes()
}

fn xor(block: &mut Block, other: &Block) {
    for (byte, other) in block.iter_mut().zip(other) {
        *byte ^= other;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn encrypt(key: &[u8; KEY_LEN], tweak: &Block, text: &mut [u8]) -> Option<()> {
        let aes = Aes256::new(key.into());
        transform(&aes, tweak, text, |block| aes.encrypt_block(block.into()))
    }

    #[test]
    fn each_length_opens_and_each_bit_changes_all_blocks() {
        let (key, tweak) = ([7; KEY_LEN], [9; BLOCK_LEN]);
        for blocks in [1, 2, 3, MAX_BLOCKS] {
            let plaintext = vec![5; blocks * BLOCK_LEN];
            let mut text = plaintext.clone();
            encrypt(&key, &tweak, &mut text).unwrap();
            let sealed = text.clone();
            decrypt(&key, &tweak, &mut text).unwrap();
            assert_eq!(text, plaintext);
            let mut changed = sealed;
            changed[0] ^= 1;
            decrypt(&key, &tweak, &mut changed).unwrap();
            let same = changed.chunks(BLOCK_LEN).filter(|block| *block == [5; BLOCK_LEN]);
            assert_eq!(same.count(), 0);
        }
    }

    #[test]
    fn other_lengths_are_refused() {
        for len in [0, 1, 15, 17, (MAX_BLOCKS + 1) * BLOCK_LEN] {
            let mut text = vec![1; len];
            assert_eq!(decrypt(&[0; KEY_LEN], &[0; BLOCK_LEN], &mut text), None, "{len}");
            assert_eq!(text, vec![1; len]);
        }
    }
}

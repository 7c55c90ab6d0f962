use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::unhex::{unhex, unhex_array};

const KEY: &str = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";
const IV: &str = "000102030405060708090a0b0c0d0e0f";
const PLAINTEXT: &str = "6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
                         30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710";
const CIPHERTEXT: &str = "f58c4c04d6e5f1ba779eabfb5f7bfbd6 9cfc4e967edb808d679f777bc6702c7d
                          39f23369a9d9bacfa530e26304231461 b2eb05e2c39be9fcda6c19078c6a9d1b";

fn sealed(key: &[u8; 32], iv: &[u8; 16], plaintext: &[u8]) -> Vec<u8> {
    let mut buffer = plaintext.to_vec();
    buffer.resize(ciphertext_len(plaintext.len()) + 5, b'#');
    let len = encrypt(key, iv, &mut buffer, plaintext.len()).unwrap();
    assert_eq!(len, ciphertext_len(plaintext.len()));
    assert_eq!(buffer[len..], *b"#####", "nothing is written behind the ciphertext");
    buffer.truncate(len);
    buffer
}

fn opened(key: &[u8; 32], iv: &[u8; 16], ciphertext: &[u8]) -> Result<Vec<u8>, InvalidCiphertext> {
    let mut buffer = ciphertext.to_vec();
    match decrypt(key, iv, &mut buffer) {
        Ok(len) => {
            buffer.truncate(len);
            Ok(buffer)
        }
        Err(error) => {
            let is_whole = ciphertext.len().is_multiple_of(BLOCK_LEN);
            let expected = if is_whole { vec![0; ciphertext.len()] } else { ciphertext.to_vec() };
            assert_eq!(buffer, expected, "wiped, or untouched");
            Err(error)
        }
    }
}

/// Ciphertext of whole blocks, without padding.
fn encrypted(blocks: &[u8]) -> Vec<u8> {
    let mut text = sealed(&[1; 32], &[2; 16], blocks);
    text.truncate(blocks.len());
    text
}

/// NIST SP 800-38A, F.2.5 and F.2.6. A block of padding is behind them.
#[test]
fn published_vectors_come_out() {
    let (key, iv) = (unhex_array(KEY), unhex_array(IV));
    let sealed = sealed(&key, &iv, &unhex(PLAINTEXT));
    assert_eq!(sealed[..64], unhex(CIPHERTEXT));
    assert_eq!(opened(&key, &iv, &sealed).unwrap(), unhex(PLAINTEXT));
}

#[test]
fn any_plaintext_comes_back() {
    let data: Vec<u8> = (0..400_u32).map(|i| i.to_le_bytes()[0]).collect();
    for len in 0..data.len() {
        let ciphertext = sealed(&[1; 32], &[2; 16], &data[..len]);
        assert!(ciphertext.len() > len && ciphertext.len() <= len + BLOCK_LEN);
        assert_eq!(opened(&[1; 32], &[2; 16], &ciphertext).unwrap(), data[..len]);
    }
}

#[test]
fn a_changed_iv_changes_the_first_block_alone() {
    let ciphertext = sealed(&[1; 32], &[2; 16], &[7; 40]);
    let mut iv = [2; 16];
    iv[3] ^= 5;
    let mut expected = [7; 40];
    expected[3] ^= 5;
    assert_eq!(opened(&[1; 32], &iv, &ciphertext).unwrap(), expected);
}

#[test]
fn lengths_that_are_not_whole_blocks_are_refused() {
    let ciphertext = sealed(&[1; 32], &[2; 16], &[7; 40]);
    for len in 0..ciphertext.len() {
        if len % BLOCK_LEN != 0 || len == 0 {
            assert_eq!(opened(&[1; 32], &[2; 16], &ciphertext[..len]), Err(InvalidCiphertext));
        }
    }
}

/// Each last byte, with blocks in which one byte of the padding or the byte before it differs.
#[test]
fn only_whole_padding_is_accepted() {
    for last in 0..=255_u8 {
        let len = usize::from(last);
        let is_possible = (1..=BLOCK_LEN).contains(&len);
        let plain = [[9; BLOCK_LEN], [last; BLOCK_LEN]].concat();
        let expected =
            if is_possible { Ok(plain[..32 - len].to_vec()) } else { Err(InvalidCiphertext) };
        assert_eq!(opened(&[1; 32], &[2; 16], &encrypted(&plain)), expected, "{last}");
        for at in BLOCK_LEN..2 * BLOCK_LEN - 1 {
            for bit in 0..8 {
                let mut plain = plain.clone();
                plain[at] ^= 1 << bit;
                let found = opened(&[1; 32], &[2; 16], &encrypted(&plain));
                let is_behind = at < 2 * BLOCK_LEN - len.min(2 * BLOCK_LEN);
                let is_right = is_possible && is_behind;
                let expected =
                    if is_right { Ok(plain[..32 - len].to_vec()) } else { Err(InvalidCiphertext) };
                assert_eq!(found, expected, "{last}, {at}, {bit}");
            }
        }
    }
}

#[test]
fn another_key_is_refused() {
    // About one wrong key in 256 gives valid padding by chance. None of these keys does.
    for key in 10..40 {
        let ciphertext = sealed(&[key; 32], &[2; 16], b"text");
        assert_eq!(opened(&[1; 32], &[2; 16], &ciphertext), Err(InvalidCiphertext), "{key}");
    }
}

#[test]
fn a_small_buffer_is_left_alone() {
    for len in 0..50 {
        let mut buffer = vec![3; ciphertext_len(len) - 1];
        assert_eq!(encrypt(&[1; 32], &[2; 16], &mut buffer, len), Err(BufferTooSmall));
        assert!(buffer.iter().all(|&byte| byte == 3));
    }
    assert_eq!(encrypt(&[1; 32], &[2; 16], &mut [0; 64], usize::MAX), Err(BufferTooSmall));
}

#[cfg(feature = "aws-lc")]
#[test]
fn ciphertexts_are_those_of_aws_lc() {
    use aws_lc_rs::cipher::{
        AES_256, DecryptionContext, EncryptionContext, PaddedBlockDecryptingKey,
        PaddedBlockEncryptingKey, UnboundCipherKey,
    };
    use aws_lc_rs::iv::FixedLength;

    let (key, iv) = ([3; 32], [4; 16]);
    let data: Vec<u8> = (0..1_000_u32).map(|i| i.to_le_bytes()[0]).collect();
    let unbound = || UnboundCipherKey::new(&AES_256, &key).unwrap();
    for len in [0, 1, 15, 16, 17, 127, 128, 129, 1_000] {
        let own = sealed(&key, &iv, &data[..len]);
        let mut twin = data[..len].to_vec();
        let context = EncryptionContext::Iv128(FixedLength::from(iv));
        let encrypting = PaddedBlockEncryptingKey::cbc_pkcs7(unbound()).unwrap();
        encrypting.less_safe_encrypt(&mut twin, context).unwrap();
        assert_eq!(own, twin, "{len}");
        let decrypting = PaddedBlockDecryptingKey::cbc_pkcs7(unbound()).unwrap();
        let context = DecryptionContext::Iv128(FixedLength::from(iv));
        assert_eq!(decrypting.decrypt(&mut twin, context).unwrap(), &data[..len], "{len}");
    }
}

/// Stands for a peripheral that knows single blocks, and counts them.
#[derive(Default)]
struct Blocks {
    encrypted: usize,
    decrypted: usize,
}

impl Aes256 for Blocks {
    fn encrypt_block(&mut self, key: &[u8; KEY_LEN], block: &mut [u8; BLOCK_LEN]) {
        use cbc::cipher::{BlockCipherEncrypt as _, KeyInit as _};
        Aes256Enc::new(key.into()).encrypt_block(block.into());
        self.encrypted += 1;
    }

    fn decrypt_block(&mut self, key: &[u8; KEY_LEN], block: &mut [u8; BLOCK_LEN]) {
        use cbc::cipher::{BlockCipherDecrypt as _, KeyInit as _};
        Aes256Dec::new(key.into()).decrypt_block(block.into());
        self.decrypted += 1;
    }
}

/// A peripheral does all blocks, and gives the bytes and the verdicts of the software.
#[test]
fn a_peripheral_gives_the_same_bytes() {
    let (key, iv) = (unhex_array(KEY), unhex_array(IV));
    for len in 0..100 {
        let plaintext: Vec<u8> = (0..len).map(|i: u8| i.wrapping_mul(7)).collect();
        let expected = sealed(&key, &iv, &plaintext);
        let mut aes = Blocks::default();
        let mut buffer = plaintext.clone();
        buffer.resize(expected.len(), 0);
        assert_eq!(
            encrypt_with(&mut aes, &key, &iv, &mut buffer, plaintext.len()),
            Ok(expected.len())
        );
        assert_eq!(buffer, expected);
        assert_eq!(aes.encrypted, expected.len() / BLOCK_LEN);
        assert_eq!(decrypt_with(&mut aes, &key, &iv, &mut buffer), Ok(plaintext.len()));
        assert_eq!(buffer[..plaintext.len()], plaintext);
        assert_eq!(aes.decrypted, expected.len() / BLOCK_LEN);
        // Zeros end in no padding.
        let mut wrong = vec![0; expected.len()];
        aes.encrypt_cbc(&key, &iv, wrong.as_chunks_mut().0);
        assert_eq!(decrypt_with(&mut aes, &key, &iv, &mut wrong), Err(InvalidCiphertext));
        assert!(wrong.iter().all(|byte| *byte == 0));
    }
}

/// FIPS 197, C.3, by the methods for single blocks.
#[test]
fn single_blocks_are_those_of_fips_197() {
    let key = core::array::from_fn(|i| u8::try_from(i).unwrap());
    let plaintext = unhex_array("00112233445566778899aabbccddeeff");
    let mut block = plaintext;
    Software.encrypt_block(&key, &mut block);
    assert_eq!(block, unhex_array::<16>("8ea2b7ca516745bfeafc49904b496089"));
    Software.decrypt_block(&key, &mut block);
    assert_eq!(block, plaintext);
}

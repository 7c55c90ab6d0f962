//! Ciphers, hashes and the encoding on their own.

use core::hint::black_box;

use endseal_crypto::{aes_cbc, base64, chacha20, hkdf_sha256, sha256};

use super::curve::hex;
use super::{Operation, nothing};
use crate::workbench::Workbench;

/// NIST SP 800-38A, F.2.5: AES-256-CBC, first block.
const AES_KEY: [u8; 32] = hex(b"603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4");
const AES_IV: [u8; 16] = hex(b"000102030405060708090a0b0c0d0e0f");
const AES_PLAINTEXT: [u8; 16] = hex(b"6bc1bee22e409f96e93d7e117393172a");
const AES_CIPHERTEXT: [u8; 16] = hex(b"f58c4c04d6e5f1ba779eabfb5f7bfbd6");
/// Number of rounds and bytes of the published row "AES 5x Encrypt/Decrypt".
const FIVE: usize = 5;

/// RFC 8439, 2.4.2: beginning of the ciphertext.
const CHACHA_KEY: [u8; 32] =
    hex(b"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
const CHACHA_NONCE: [u8; 12] = hex(b"000000000000004a00000000");
const CHACHA_PLAINTEXT: [u8; 16] = *b"Ladies and Gentl";
const CHACHA_CIPHERTEXT: [u8; 16] = hex(b"6e2e359a2568f98041ba0728dd0d6981");

/// FIPS 180-4: the digest of "abc".
const ABC: [u8; 32] = hex(b"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
/// RFC 4231, test case 2.
const HMAC_KEY: &[u8] = b"Jefe";
const HMAC_DATA: &[u8] = b"what do ya want for nothing?";
const HMAC_MAC: [u8; 32] = hex(b"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");

pub(crate) const AES_ENCRYPT: Operation = Operation {
    name: "aes_encrypt",
    setup: nothing,
    prepare: Workbench::load,
    run: |it| {
        let bytes = it.bytes;
        black_box(aes_cbc::encrypt(&AES_KEY, &AES_IV, &mut it.work, bytes))
            .expect("the buffer is large enough");
    },
    check: aes_is_right,
    is_long: false,
};

pub(crate) const AES_DECRYPT: Operation = Operation {
    name: "aes_decrypt",
    setup: |it| {
        it.load();
        let len = aes_cbc::encrypt(&AES_KEY, &AES_IV, &mut it.work, it.bytes)
            .expect("the buffer is large enough");
        it.keep(len);
    },
    prepare: Workbench::restore,
    run: |it| {
        let text = &mut it.work[..it.input_len];
        black_box(aes_cbc::decrypt(&AES_KEY, &AES_IV, text)).expect("sound padding");
    },
    check: aes_is_right,
    is_long: false,
};

/// Encrypts and decrypts five times in one buffer.
pub(crate) const AES_FIVE_ROUNDS: Operation = Operation {
    name: "aes_five_rounds",
    setup: nothing,
    prepare: Workbench::load,
    run: |it| {
        for _ in 0..FIVE {
            let bytes = it.bytes;
            let len = aes_cbc::encrypt(&AES_KEY, &AES_IV, &mut it.work, bytes)
                .expect("the buffer is large enough");
            aes_cbc::decrypt(&AES_KEY, &AES_IV, &mut it.work[..len]).expect("sound padding");
        }
    },
    check: aes_is_right,
    is_long: false,
};

/// Checks the published block, and a round trip at the present size.
fn aes_is_right(it: &mut Workbench) -> bool {
    it.work[..AES_PLAINTEXT.len()].copy_from_slice(&AES_PLAINTEXT);
    let len = aes_cbc::encrypt(&AES_KEY, &AES_IV, &mut it.work, AES_PLAINTEXT.len());
    if len != Ok(32) || !it.work.starts_with(&AES_CIPHERTEXT) {
        return false;
    }
    aes_round(it)
}

/// Encrypts and decrypts a message of the present size. Returns true if it is the same again.
pub(crate) fn aes_round(it: &mut Workbench) -> bool {
    it.load();
    let bytes = it.bytes;
    let Ok(len) = aes_cbc::encrypt(&AES_KEY, &AES_IV, &mut it.work, bytes) else { return false };
    let len = aes_cbc::decrypt(&AES_KEY, &AES_IV, &mut it.work[..len]);
    len == Ok(bytes) && it.work[..bytes] == *it.message()
}

pub(crate) const CHACHA20: Operation = Operation {
    name: "chacha20",
    setup: Workbench::load,
    prepare: nothing,
    run: |it| {
        let text = &mut it.work[..it.bytes];
        chacha20::apply_keystream(&CHACHA_KEY, &CHACHA_NONCE, 1, text).expect("few blocks");
    },
    check: |it| {
        let mut vector = CHACHA_PLAINTEXT;
        let first = chacha20::apply_keystream(&CHACHA_KEY, &CHACHA_NONCE, 1, &mut vector);
        it.load();
        (CHACHA20.run)(it);
        let is_changed = it.work[..it.bytes] != *it.message();
        (CHACHA20.run)(it);
        first.is_ok()
            && vector == CHACHA_CIPHERTEXT
            && is_changed
            && it.work[..it.bytes] == *it.message()
    },
    is_long: false,
};

pub(crate) const SHA256: Operation = Operation {
    name: "sha256",
    setup: nothing,
    prepare: nothing,
    run: |it| {
        black_box(sha256::digest(black_box(it.message())));
    },
    check: |it| {
        // Hashed in pieces that end within blocks.
        let mut pieces = sha256::Digest::new();
        it.message().chunks(7).for_each(|piece| pieces.update(piece));
        sha256::digest(b"abc") == ABC && pieces.finish() == sha256::digest(it.message())
    },
    is_long: false,
};

/// Computes a MAC under a prepared key.
pub(crate) const HMAC: Operation = Operation {
    name: "hmac",
    setup: nothing,
    prepare: nothing,
    run: |it| {
        black_box(it.hmac.mac(&[black_box(it.message())]));
    },
    check: |it| {
        let vector = sha256::HmacKey::new(HMAC_KEY);
        let mac = it.hmac.mac(&[it.message()]);
        vector.mac(&[HMAC_DATA]) == HMAC_MAC && it.hmac.verify(&[it.message()], &mac)
    },
    is_long: false,
};

/// Derives the keys of one NIP-44 message from a prepared conversation key.
pub(crate) const HKDF_EXPAND: Operation = Operation {
    name: "hkdf_expand",
    setup: nothing,
    prepare: nothing,
    run: |it| {
        let mut keys = [0; 76];
        let info = black_box(crate::payload::NONCE);
        hkdf_sha256::expand(&it.hmac, &[&info], &mut keys).expect("76 of 8,160 bytes");
        black_box(&keys);
    },
    check: |it| {
        // RFC 5869, 2.3: T(1) = HMAC(PRK, info || 1).
        let mut first = [0; 32];
        let done = hkdf_sha256::expand(&it.hmac, &[b"info"], &mut first);
        done.is_ok() && first == it.hmac.mac(&[b"info", &[1]])
    },
    is_long: false,
};

pub(crate) const BASE64_ENCODE: Operation = Operation {
    name: "base64_encode",
    setup: nothing,
    prepare: nothing,
    run: |it| {
        let message = &it.message[..it.bytes];
        black_box(base64::encode(message, &mut it.work)).expect("the buffer is large enough");
    },
    check: base64_is_right,
    is_long: false,
};

pub(crate) const BASE64_DECODE: Operation = Operation {
    name: "base64_decode",
    setup: |it| {
        let message = &it.message[..it.bytes];
        let len = base64::encode(message, &mut it.work).expect("the buffer is large enough").len();
        it.keep(len);
    },
    prepare: Workbench::restore,
    run: |it| {
        black_box(base64::decode_in_place(&mut it.work[..it.input_len])).expect("canonical");
    },
    check: base64_is_right,
    is_long: false,
};

/// Checks RFC 4648, section 10, and a round trip at the present size.
fn base64_is_right(it: &mut Workbench) -> bool {
    let mut vector = [0; 8];
    if base64::encode(b"foobar", &mut vector) != Ok("Zm9vYmFy") {
        return false;
    }
    let bytes = it.bytes;
    let message = &it.message[..bytes];
    let Ok(len) = base64::encode(message, &mut it.work).map(str::len) else { return false };
    base64::decode_in_place(&mut it.work[..len]) == Ok(bytes) && it.work[..bytes] == *message
}

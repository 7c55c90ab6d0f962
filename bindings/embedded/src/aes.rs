//! AES-256-CBC by the chip's peripheral, or in software.

use endseal_crypto::aes_cbc::{self, Aes256, Software};

use crate::platform::Platform;
use crate::status::Failure;

/// Blocks that go to the peripheral in one call. Between two calls a watchdog is fed.
const STEP: usize = 32;

/// AES of a platform. After a failure of the peripheral the bytes are worthless and
/// [`PlatformAes::finish`] says so.
pub(crate) struct PlatformAes<'p, P> {
    platform: &'p mut P,
    failure: Option<Failure>,
}

impl<'p, P: Platform> PlatformAes<'p, P> {
    pub(crate) fn new(platform: &'p mut P) -> Self {
        Self { platform, failure: None }
    }

    /// Ends the use.
    ///
    /// # Errors
    /// The first failure of the peripheral.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.failure.map_or(Ok(()), Err)
    }

    /// Returns false if there is no peripheral.
    fn ecb(&mut self, key: &[u8; 32], decrypt: bool, blocks: &mut [[u8; 16]]) -> bool {
        match self.platform.aes256(key, decrypt, blocks) {
            None => false,
            Some(done) => {
                self.failure = self.failure.or(done.err());
                true
            }
        }
    }
}

impl<P: Platform> Aes256 for PlatformAes<'_, P> {
    fn encrypt_block(&mut self, key: &[u8; 32], block: &mut [u8; 16]) {
        if !self.ecb(key, false, core::slice::from_mut(block)) {
            Software.encrypt_block(key, block);
        }
    }

    fn decrypt_block(&mut self, key: &[u8; 32], block: &mut [u8; 16]) {
        if !self.ecb(key, true, core::slice::from_mut(block)) {
            Software.decrypt_block(key, block);
        }
    }

    fn encrypt_cbc(&mut self, key: &[u8; 32], iv: &[u8; 16], blocks: &mut [[u8; 16]]) {
        // An empty call asks if there is a peripheral.
        let has_peripheral = self.ecb(key, false, &mut []);
        let mut before = *iv;
        for step in blocks.chunks_mut(STEP) {
            self.platform.between_steps();
            if has_peripheral {
                for block in step.iter_mut() {
                    xor(block, &before);
                    self.encrypt_block(key, block);
                    before = *block;
                }
            } else {
                Software.encrypt_cbc(key, &before, step);
                before = step.last().copied().unwrap_or(before);
            }
        }
    }

    fn decrypt_cbc(&mut self, key: &[u8; 32], iv: &[u8; 16], blocks: &mut [[u8; 16]]) {
        let has_peripheral = self.ecb(key, true, &mut []);
        let mut before = *iv;
        for step in blocks.chunks_mut(STEP) {
            self.platform.between_steps();
            let last = step.last().copied().unwrap_or(before);
            if has_peripheral {
                let mut ciphertext = [[0; 16]; STEP];
                ciphertext[..step.len()].copy_from_slice(step);
                self.ecb(key, true, step);
                for (block, ciphertext) in step.iter_mut().zip(&ciphertext) {
                    xor(block, &before);
                    before = *ciphertext;
                }
            } else {
                Software.decrypt_cbc(key, &before, step);
            }
            before = last;
        }
    }
}

fn xor(block: &mut [u8; 16], other: &[u8; 16]) {
    for (byte, other) in block.iter_mut().zip(other) {
        *byte ^= other;
    }
}

/// Encrypts `buffer[..len]` where it lies, with padding. Returns the length of the ciphertext.
pub(crate) fn encrypt(
    platform: &mut impl Platform,
    key: &[u8; 32],
    iv: &[u8; 16],
    buffer: &mut [u8],
    len: usize,
) -> Result<usize, Failure> {
    let mut aes = PlatformAes::new(platform);
    let done = aes_cbc::encrypt_with(&mut aes, key, iv, buffer, len);
    let ended = aes.finish().and(done.map_err(|_| Failure::Length));
    ended.inspect_err(|_| buffer.fill(0))
}

/// Decrypts `buffer` where it lies. Returns the length of the plaintext.
pub(crate) fn decrypt(
    platform: &mut impl Platform,
    key: &[u8; 32],
    iv: &[u8; 16],
    buffer: &mut [u8],
) -> Result<usize, Failure> {
    let mut aes = PlatformAes::new(platform);
    let done = aes_cbc::decrypt_with(&mut aes, key, iv, buffer);
    let ended = aes.finish().and(done.map_err(|_| Failure::Decryption));
    ended.inspect_err(|_| buffer.fill(0))
}

//! Cases of the ciphers alone.

use core::hint::black_box;

use endseal_crypto::aes_cbc;

use super::{Work, checked, random, text};
use crate::subject::{Checked, Failure};

/// Runs AES-256-CBC in one direction.
pub(super) struct Aes {
    key: [u8; 32],
    iv: [u8; 16],
    plaintext: Vec<u8>,
    ciphertext: Vec<u8>,
    buffer: Vec<u8>,
    encrypts: bool,
}

impl Aes {
    pub(super) fn new(bytes: usize, encrypts: bool) -> Result<Self, Failure> {
        let (key, iv, plaintext) = (random()?, random()?, text(bytes));
        let mut ciphertext = plaintext.clone();
        ciphertext.resize(aes_cbc::ciphertext_len(bytes), 0);
        aes_cbc::encrypt(&key, &iv, &mut ciphertext, bytes)?;
        let buffer = ciphertext.clone();
        Ok(Self { key, iv, plaintext, ciphertext, buffer, encrypts })
    }
}

impl Work for Aes {
    fn once(&mut self, _: usize) -> Result<(), Failure> {
        let Self { key, iv, plaintext, ciphertext, buffer, encrypts } = self;
        if *encrypts {
            buffer[..plaintext.len()].copy_from_slice(plaintext);
            aes_cbc::encrypt(key, iv, buffer, plaintext.len())?;
        } else {
            buffer.copy_from_slice(ciphertext);
            aes_cbc::decrypt(key, iv, buffer)?;
        }
        black_box(&*buffer);
        Ok(())
    }

    fn check(&mut self) -> Result<Checked, Failure> {
        let mut copy = self.ciphertext.clone();
        let len = aes_cbc::decrypt(&self.key, &self.iv, &mut copy)?;
        Ok(checked(copy[..len] == self.plaintext, None, Some(self.ciphertext.len())))
    }
}

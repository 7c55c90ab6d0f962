//! AES-256-CTR (NIST SP 800-38A, 6.5) with a counter of 128 bits, for formats of others that are
//! read.
//!
//! CTR authenticates nothing: an attacker who can change a ciphertext changes the same bits of the
//! plaintext. Content of this project belongs into [`segment`](crate::segment).

use aes::Aes256;
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit as _, StreamCipher as _};

/// Length of a key in bytes.
pub const KEY_LEN: usize = 32;
/// Length of the first counter block in bytes.
pub const IV_LEN: usize = 16;

/// A key stream at some position. Round keys and key stream are wiped when it is dropped.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct AesCtr(Ctr128BE<Aes256>);

impl AesCtr {
    /// Begins the key stream. The counter starts at `iv`, as a big-endian number.
    #[must_use]
    pub fn new(key: &[u8; KEY_LEN], iv: &[u8; IV_LEN]) -> Self {
        Self(Ctr128BE::new(key.into(), iv.into()))
    }

    /// Encrypts or decrypts the next bytes where they lie.
    pub fn apply(&mut self, text: &mut [u8]) {
        self.0.apply_keystream(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unhex::unhex_array;

    /// NIST SP 800-38A, F.5.5.
    #[test]
    fn the_published_answer_comes_out_however_it_is_cut() {
        let key =
            unhex_array::<32>("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4");
        let iv = unhex_array::<16>("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
        let plaintext =
            unhex_array::<32>("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51");
        let ciphertext =
            unhex_array::<32>("601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5");
        for cut in 0..=32 {
            let mut text = plaintext;
            let mut stream = AesCtr::new(&key, &iv);
            let (head, tail) = text.split_at_mut(cut);
            stream.apply(head);
            stream.apply(tail);
            assert_eq!(text, ciphertext, "{cut}");
        }
    }
}

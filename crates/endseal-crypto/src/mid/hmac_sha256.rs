//! HMAC-SHA-256 (RFC 2104) of many short messages under one key.
//!
//! The blocks of a key that HMAC begins with are hashed once, and a code is what is left of two hashes: for a
//! message of 150 bytes four blocks. A library copies contexts of its own for each code, which takes half as long as the
//! blocks do (`cargo bench -p endseal-crypto --bench codes`). The twins are AWS-LC's and RustCrypto's `hmac`.

use alloc::boxed::Box;

use sha2::block_api::compress256;
use zeroize::{Zeroize as _, ZeroizeOnDrop};

use crate::low::wipe::wipe;
use crate::sha256;

const BLOCK: usize = 64;
const HASH: usize = 32;
/// Where the length in bits begins in the last block of a message (FIPS 180-4, 5.1.1).
const LENGTH: usize = BLOCK - 8;

/// FIPS 180-4, 5.3.3.
const INITIAL: State = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

type State = [u32; HASH / 4];

/// HMAC's two hashes behind the block of the key, inner and outer, wiped when dropped.
pub(crate) struct CodeKey(Box<[State; 2]>);

impl CodeKey {
    /// Of a key of any length.
    pub(crate) fn new(key: &[u8]) -> Self {
        let mut digest = [0; HASH];
        let key = if key.len() > BLOCK {
            digest = sha256::digest(key);
            &digest[..]
        } else {
            key
        };
        let mut own = Self(Box::new([INITIAL; 2]));
        let mut pads = [[0x36; BLOCK], [0x5c; BLOCK]];
        for (pad, state) in pads.iter_mut().zip(&mut *own.0) {
            for (byte, key) in pad.iter_mut().zip(key) {
                *byte ^= key;
            }
            compress256(state, core::slice::from_ref(pad));
        }
        wipe(pads.as_flattened_mut());
        wipe(&mut digest);
        own
    }

    /// The code of the parts, one behind the other.
    pub(crate) fn code(&self, parts: &[&[u8]]) -> [u8; HASH] {
        let [inner, outer] = &*self.0;
        let mut hash = Hash::behind_a_block(inner);
        for part in parts {
            hash.update(part);
        }
        hash.finish();
        let digest = hash.digest();
        hash.begin(outer);
        hash.update(&digest);
        hash.finish();
        hash.digest()
    }
}

impl Drop for CodeKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl ZeroizeOnDrop for CodeKey {}

/// A hash behind the block of a key, wiped when dropped.
struct Hash {
    state: State,
    /// What does not fill a block yet is at its beginning.
    block: [u8; BLOCK],
    /// Bytes of the message so far, with the block of the key.
    len: usize,
}

impl Hash {
    fn behind_a_block(state: &State) -> Self {
        Self { state: *state, block: [0; BLOCK], len: BLOCK }
    }

    /// Begins anew.
    fn begin(&mut self, state: &State) {
        (self.state, self.len) = (*state, BLOCK);
    }

    /// Bytes that do not fill a block yet.
    const fn filled(&self) -> usize {
        self.len % BLOCK
    }

    fn update(&mut self, data: &[u8]) {
        let filled = self.filled();
        self.len += data.len();
        let mut data = data;
        if filled > 0 {
            let (head, rest) = data.split_at(data.len().min(BLOCK - filled));
            self.block[filled..filled + head.len()].copy_from_slice(head);
            if filled + head.len() < BLOCK {
                return;
            }
            compress256(&mut self.state, core::slice::from_ref(&self.block));
            data = rest;
        }
        let (blocks, rest) = data.as_chunks();
        compress256(&mut self.state, blocks);
        self.block[..rest.len()].copy_from_slice(rest);
    }

    /// Pads the message.
    fn finish(&mut self) {
        let filled = self.filled();
        self.block[filled] = 0x80;
        self.block[filled + 1..].fill(0);
        if filled >= LENGTH {
            compress256(&mut self.state, core::slice::from_ref(&self.block));
            self.block.fill(0);
        }
        self.block[LENGTH..].copy_from_slice(&(self.len as u64 * 8).to_be_bytes());
        compress256(&mut self.state, core::slice::from_ref(&self.block));
    }

    fn digest(&self) -> [u8; HASH] {
        let mut out = [0; HASH];
        for (bytes, word) in out.as_chunks_mut().0.iter_mut().zip(&self.state) {
            *bytes = word.to_be_bytes();
        }
        out
    }
}

impl Drop for Hash {
    fn drop(&mut self) {
        self.state.zeroize();
        wipe(&mut self.block);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use aws_lc_rs::hmac as aws_lc;
    use hmac::{KeyInit as _, Mac as _};

    use super::*;

    fn twins(key: &[u8], message: &[u8]) -> [u8; HASH] {
        let one = aws_lc::sign(&aws_lc::Key::new(aws_lc::HMAC_SHA256, key), message);
        let mut other = hmac::Hmac::<sha2::Sha256>::new_from_slice(key).unwrap();
        other.update(message);
        let other: [u8; HASH] = other.finalize().into_bytes().into();
        assert_eq!(one.as_ref(), other);
        other
    }

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 7 + i / 256).to_le_bytes()[0]).collect()
    }

    #[test]
    fn codes_are_those_of_two_libraries() {
        let message = bytes(400);
        for key in (0..=140).map(bytes) {
            let own = CodeKey::new(&key);
            for len in [0, 1, 54, 55, 56, 63, 64, 65, 119, 120, 128, 150, 400] {
                assert_eq!(own.code(&[&message[..len]]), twins(&key, &message[..len]));
            }
        }
        let (key, own) = (bytes(32), CodeKey::new(&bytes(32)));
        for len in 0..=message.len() {
            assert_eq!(own.code(&[&message[..len]]), twins(&key, &message[..len]));
        }
    }

    #[test]
    fn parts_are_one_message() {
        let (key, message) = (bytes(32), bytes(260));
        let (own, whole) = (CodeKey::new(&key), twins(&key, &message));
        for first in 0..=message.len() {
            let (one, rest) = message.split_at(first);
            for second in [0, 1, 63, 64, 65, 130] {
                let (two, three) = rest.split_at(second.min(rest.len()));
                assert_eq!(own.code(&[one, two, &[], three]), whole);
            }
        }
    }
}

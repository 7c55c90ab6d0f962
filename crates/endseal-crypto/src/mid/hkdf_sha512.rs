//! HKDF-Expand-SHA-512 (RFC 5869, 2.3) of several outputs under one key.
//!
//! The blocks of a key that HMAC (RFC 2104) begins with are hashed once, and an output of up to 76 bytes with
//! up to 109 of `info` is five blocks more: libraries take as long for what stands around these as for two blocks.
//! The twins are the back ends' `hkdf_sha512_expand`.

use alloc::boxed::Box;

use sha2::block_api::compress512;
use zeroize::{Zeroize as _, ZeroizeOnDrop};

const BLOCK: usize = 128;
const HASH: usize = 64;

/// FIPS 180-4, 5.3.5.
const INITIAL: State = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];

type State = [u64; HASH / 8];

/// HMAC's two hashes behind the block of the key, inner and outer, wiped when dropped.
pub(crate) struct ExpandKey(Box<[State; 2]>);

impl ExpandKey {
    /// The caller keeps `prk` within 128 bytes.
    pub(crate) fn new(prk: &[u8]) -> Self {
        let mut own = Self(Box::new([INITIAL; 2]));
        let mut block = [[0; BLOCK]];
        for (state, pad) in own.0.iter_mut().zip([0x36, 0x5c]) {
            block[0].fill(pad);
            for (byte, key) in block[0].iter_mut().zip(prk) {
                *byte ^= key;
            }
            compress512(state, &block);
        }
        block.zeroize();
        own
    }

    /// The caller keeps `out` within 255 hash lengths.
    pub(crate) fn expand(&self, info: &[&[u8]], out: &mut [u8]) {
        let [inner, outer] = &*self.0;
        let mut hash = Hash::new();
        for (i, out) in (1..=u8::MAX).zip(out.chunks_mut(HASH)) {
            hash.begin(inner);
            if i > 1 {
                hash.update_with_last();
            }
            for part in info {
                hash.update(part);
            }
            hash.update(&[i]);
            hash.finish();
            hash.begin(outer);
            hash.update_with_last();
            hash.finish();
            for (out, word) in out.chunks_mut(8).zip(&hash.state) {
                out.copy_from_slice(&word.to_be_bytes()[..out.len()]);
            }
        }
    }
}

impl Drop for ExpandKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl ZeroizeOnDrop for ExpandKey {}

/// SHA-512 behind one block, which is in the state already.
struct Hash {
    state: State,
    /// The state before it began anew.
    last: State,
    block: [[u8; BLOCK]; 1],
    /// Bytes behind the first block.
    len: usize,
}

impl Hash {
    fn new() -> Self {
        Self { state: [0; 8], last: [0; 8], block: [[0; BLOCK]], len: 0 }
    }

    fn begin(&mut self, state: &State) {
        self.last = self.state;
        self.state = *state;
        self.len = 0;
    }

    /// Takes the hash before this one, at the start.
    fn update_with_last(&mut self) {
        for (bytes, word) in self.block[0].chunks_mut(8).zip(&self.last) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        self.len = HASH;
    }

    fn update(&mut self, data: &[u8]) {
        let mut data = data;
        while !data.is_empty() {
            let free = &mut self.block[0][self.len % BLOCK..];
            let (head, rest) = data.split_at(data.len().min(free.len()));
            free[..head.len()].copy_from_slice(head);
            self.len += head.len();
            data = rest;
            if self.len.is_multiple_of(BLOCK) {
                compress512(&mut self.state, &self.block);
            }
        }
    }

    /// FIPS 180-4, 5.1.2.
    fn finish(&mut self) {
        let bits = (BLOCK + self.len) as u128 * 8;
        let used = self.len % BLOCK;
        self.block[0][used] = 0x80;
        self.block[0][used + 1..].fill(0);
        if used + 1 > BLOCK - 16 {
            compress512(&mut self.state, &self.block);
            self.block[0].fill(0);
        }
        self.block[0][BLOCK - 16..].copy_from_slice(&bits.to_be_bytes());
        compress512(&mut self.state, &self.block);
    }
}

impl Drop for Hash {
    fn drop(&mut self) {
        self.state.zeroize();
        self.last.zeroize();
        self.block.zeroize();
    }
}

//! HKDF-Expand-SHA-512 (RFC 5869, 2.3) of several outputs under one key.
//!
//! The blocks of a key that HMAC (RFC 2104) begins with are hashed once, and an output of up to 76 bytes with
//! up to 109 of `info` is five blocks more: libraries take as long for what stands around these as for two blocks.
//! Two outputs are made side by side where the CPU compresses two blocks at once. The twins are the back ends'
//! `hkdf_sha512_expand`.

use alloc::boxed::Box;

use sha2::block_api::compress512;
use zeroize::{Zeroize as _, ZeroizeOnDrop};

use crate::low::wipe::wipe;
#[cfg(target_arch = "x86_64")]
use crate::low::{cpu::HaveRotations, sha512_pair};

const BLOCK: usize = 128;
const HASH: usize = 64;
/// Bytes of a padded message that are not content, at least: a one, and the length in bits (FIPS 180-4, 5.1.2).
const PADDING: usize = 1 + 16;

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

/// One output: what it is of, and where it goes.
pub(crate) type Output<'a> = (&'a [&'a [u8]], &'a mut [u8]);

impl ExpandKey {
    /// The caller keeps `prk` within 128 bytes.
    pub(crate) fn new(prk: &[u8]) -> Self {
        let mut own = Self(Box::new([INITIAL; 2]));
        let mut pads = [[0x36; BLOCK], [0x5c; BLOCK]];
        for pad in &mut pads {
            for (byte, key) in pad.iter_mut().zip(prk) {
                *byte ^= key;
            }
        }
        let [inner, outer] = &mut *own.0;
        compress_pair([inner, outer], [&pads[0], &pads[1]]);
        wipe(pads.as_flattened_mut());
        own
    }

    /// The caller keeps `out` within 255 hash lengths.
    pub(crate) fn expand(&self, info: &[&[u8]], out: &mut [u8]) {
        let mut chain = Chain::new(&self.0, (info, out));
        chain.begin();
        chain.run();
    }

    /// [`Self::expand`] of two outputs, which costs as much as the longer one where the CPU compresses two blocks at once.
    pub(crate) fn expand_two(&self, outputs: [Output<'_>; 2]) {
        let [mut one, mut other] = outputs.map(|output| Chain::new(&self.0, output));
        one.begin();
        other.begin();
        while !one.is_done() && !other.is_done() {
            compress_pair([&mut one.state, &mut other.state], [&one.block, &other.block]);
            one.compressed();
            other.compressed();
        }
        one.run();
        other.run();
    }
}

impl Drop for ExpandKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl ZeroizeOnDrop for ExpandKey {}

fn compress(state: &mut State, block: &[u8; BLOCK]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = HaveRotations::detect() {
        // The same in both halves takes no longer than the library does, and is one piece of code less in the cache.
        let mut other = *state;
        sha512_pair::compress(token, [state, &mut other], [block; 2]);
        other.zeroize();
        return;
    }
    compress512(state, core::slice::from_ref(block));
}

fn compress_pair([one, other]: [&mut State; 2], blocks: [&[u8; BLOCK]; 2]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = HaveRotations::detect() {
        return sha512_pair::compress(token, [one, other], blocks);
    }
    compress512(one, core::slice::from_ref(blocks[0]));
    compress512(other, core::slice::from_ref(blocks[1]));
}

/// The hashes of one output, block by block, wiped when dropped:
/// `T(i) = HMAC(key, T(i - 1) || info || i)`, and the output is `T(1) || T(2) || …`.
struct Chain<'a> {
    key: &'a [State; 2],
    info: &'a [&'a [u8]],
    info_len: usize,
    /// What is still to be made.
    out: &'a mut [u8],
    i: u8,
    /// Blocks of the inner hash's message that were compressed.
    inner: usize,
    /// The outer hash is made.
    is_outer: bool,
    state: State,
    /// What is to be compressed into it next.
    block: [u8; BLOCK],
    /// `T(i - 1)`.
    last: [u8; HASH],
}

impl<'a> Chain<'a> {
    /// Nothing secret is in it before it begins, as it may be moved: a move leaves a copy behind.
    fn new(key: &'a [State; 2], (info, out): Output<'a>) -> Self {
        Self {
            key,
            info,
            info_len: info.iter().map(|part| part.len()).sum(),
            out,
            i: 1,
            inner: 0,
            is_outer: false,
            state: [0; HASH / 8],
            block: [0; BLOCK],
            last: [0; HASH],
        }
    }

    /// Begins with `T(i)`, if any of it is to be made.
    fn begin(&mut self) {
        (self.inner, self.is_outer) = (0, false);
        if !self.is_done() {
            self.state = self.key[0];
            self.fill();
        }
    }

    fn is_done(&self) -> bool {
        self.out.is_empty()
    }

    /// Makes what is left by itself.
    fn run(&mut self) {
        while !self.is_done() {
            compress(&mut self.state, &self.block);
            self.compressed();
        }
    }

    /// Goes on behind a block that was compressed.
    fn compressed(&mut self) {
        if self.is_outer {
            write(&self.state, &mut self.last);
            let len = self.out.len().min(HASH);
            let (out, rest) = core::mem::take(&mut self.out).split_at_mut(len);
            out.copy_from_slice(&self.last[..len]);
            self.out = rest;
            self.i = self.i.wrapping_add(1);
            self.begin();
            return;
        }
        self.inner += 1;
        if self.inner < self.blocks() {
            self.fill();
            return;
        }
        write(&self.state, &mut self.block);
        self.block[HASH..].fill(0);
        self.block[HASH] = 0x80;
        self.end(HASH);
        (self.state, self.is_outer) = (self.key[1], true);
    }

    /// Bytes of the inner hash's message behind the block of the key.
    fn len(&self) -> usize {
        let last = if self.i > 1 { HASH } else { 0 };
        last + self.info_len + 1
    }

    /// Blocks of that message, padded.
    fn blocks(&self) -> usize {
        (self.len() + PADDING).div_ceil(BLOCK)
    }

    /// Makes the next block of the inner hash's message.
    fn fill(&mut self) {
        let last = if self.i > 1 { &self.last[..] } else { &[] };
        let end = [self.i, 0x80];
        let begin = self.inner * BLOCK;
        let mut at = 0;
        self.block.fill(0);
        for part in [last].into_iter().chain(self.info.iter().copied()).chain([&end[..]]) {
            // What of the part lies in this block.
            let from = begin.saturating_sub(at).min(part.len());
            let to = (begin + BLOCK).saturating_sub(at).min(part.len());
            if from < to {
                let place = at + from - begin;
                self.block[place..place + to - from].copy_from_slice(&part[from..to]);
            }
            at += part.len();
        }
        if self.inner + 1 == self.blocks() {
            self.end(self.len());
        }
    }

    /// Puts the length at the end of the last block of a message that has so many bytes behind the block of the key.
    fn end(&mut self, len: usize) {
        let bits = (BLOCK + len) as u128 * 8;
        self.block[BLOCK - 16..].copy_from_slice(&bits.to_be_bytes());
    }
}

impl Drop for Chain<'_> {
    fn drop(&mut self) {
        self.state.zeroize();
        wipe(&mut self.block);
        wipe(&mut self.last);
    }
}

/// The hash of a state, to the beginning of `out`.
fn write(state: &State, out: &mut [u8]) {
    for (bytes, word) in out.as_chunks_mut().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
}

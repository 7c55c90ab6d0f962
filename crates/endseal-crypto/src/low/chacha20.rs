//! ChaCha20 (RFC 8439): the portable kernel, and the choice between it and two vector kernels. All
//! give the same bytes. `docs/design/chacha20.md` has the reasons and the figures.
//!
//! There is no branch and no address that depends on key, nonce or content, only on lengths.
//! [`State`] is wiped when it goes out of scope. Keystream stays in registers, or in buffers that
//! are wiped. Registers are not cleared: the next message overwrites them.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use zeroize::optimization_barrier;

pub use super::cpu::{HaveAvx2, HaveAvx512};
use super::wipe::wipe;

/// Length of a block in bytes.
pub const BLOCK: usize = 64;

/// Longest data in bytes for which the CPU is not asked: the portable kernel takes them as fast.
const SHORT: usize = 64;

/// Implementation of ChaCha20 that runs on this CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kernel {
    /// Safe Rust in 32-bit words, one block after another.
    Portable,
    /// Eight blocks at a time.
    Avx2(HaveAvx2),
    /// Sixteen blocks at a time, or eight or four at the end.
    Avx512(HaveAvx512),
}

impl Kernel {
    /// The fastest that this CPU has for `len` bytes.
    #[must_use]
    pub fn for_len(len: usize) -> Self {
        if len <= SHORT {
            return Self::Portable;
        }
        let avx512 = HaveAvx512::detect().map(Self::Avx512);
        avx512.or_else(|| HaveAvx2::detect().map(Self::Avx2)).unwrap_or(Self::Portable)
    }

    /// All that run on this CPU.
    pub fn all() -> impl Iterator<Item = Self> {
        let avx2 = HaveAvx2::detect().map(Self::Avx2);
        [Some(Self::Portable), avx2, HaveAvx512::detect().map(Self::Avx512)].into_iter().flatten()
    }
}

/// `data ^= ChaCha20(key, counter, nonce)`. Block i has the counter `counter + i` modulo 2^32: the
/// caller MUST keep it from wrapping around, as keystream would repeat.
pub fn apply_keystream(
    kernel: Kernel,
    key: &[u8; 32],
    nonce: &[u8; 12],
    counter: u32,
    data: &mut [u8],
) {
    let mut state = State::ZERO;
    state.fill(key, nonce, counter);
    match kernel {
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx2(token) => avx2::apply(token, &mut state, data),
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx512(token) => avx512::apply(token, &mut state, data),
        _ => apply_portable(&mut state, data),
    }
}

/// Input of the block function (RFC 8439, section 2.3).
struct State([u32; 16]);

impl State {
    /// To be filled by [`Self::fill`], where it lies: a move would leave a copy behind.
    const ZERO: Self = Self([0; 16]);

    fn fill(&mut self, key: &[u8; 32], nonce: &[u8; 12], counter: u32) {
        let (constants, rest) = self.0.split_at_mut(4);
        constants.copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
        let (key_words, rest) = rest.split_at_mut(8);
        let words = key.as_chunks().0.iter().chain(nonce.as_chunks().0);
        let (counter_word, nonce_words) = rest.split_at_mut(1);
        for (to, word) in key_words.iter_mut().chain(nonce_words).zip(words) {
            *to = u32::from_le_bytes(*word);
        }
        counter_word[0] = counter;
    }

    fn advance(&mut self, blocks: u32) {
        self.0[12] = self.0[12].wrapping_add(blocks);
    }

    /// XORs the next block of keystream to `block`.
    fn xor_next(&mut self, block: &mut [u8; BLOCK]) {
        let mut x = self.0;
        for _ in 0..10 {
            quarter_round(&mut x, [0, 4, 8, 12]);
            quarter_round(&mut x, [1, 5, 9, 13]);
            quarter_round(&mut x, [2, 6, 10, 14]);
            quarter_round(&mut x, [3, 7, 11, 15]);
            quarter_round(&mut x, [0, 5, 10, 15]);
            quarter_round(&mut x, [1, 6, 11, 12]);
            quarter_round(&mut x, [2, 7, 8, 13]);
            quarter_round(&mut x, [3, 4, 9, 14]);
        }
        for ((bytes, x), word) in block.as_chunks_mut().0.iter_mut().zip(&x).zip(&self.0) {
            *bytes = (u32::from_le_bytes(*bytes) ^ x.wrapping_add(*word)).to_le_bytes();
        }
        self.advance(1);
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.0.fill(0);
        optimization_barrier(&self.0);
    }
}

/// RFC 8439, section 2.1. Always inlined: the state stays in registers only if indices are
/// constants.
#[inline(always)]
fn quarter_round(x: &mut [u32; 16], [a, b, c, d]: [usize; 4]) {
    x[a] = x[a].wrapping_add(x[b]);
    x[d] = (x[d] ^ x[a]).rotate_left(16);
    x[c] = x[c].wrapping_add(x[d]);
    x[b] = (x[b] ^ x[c]).rotate_left(12);
    x[a] = x[a].wrapping_add(x[b]);
    x[d] = (x[d] ^ x[a]).rotate_left(8);
    x[c] = x[c].wrapping_add(x[d]);
    x[b] = (x[b] ^ x[c]).rotate_left(7);
}

fn apply_portable(state: &mut State, data: &mut [u8]) {
    let (blocks, rest) = data.as_chunks_mut();
    for block in blocks {
        state.xor_next(block);
    }
    if !rest.is_empty() {
        xor_padded(rest, |block| state.xor_next(block));
    }
}

/// Calls `xor` for a buffer that begins with `part`, of at most `N` bytes, and gives `part` what it
/// made of these.
#[inline]
fn xor_padded<const N: usize>(part: &mut [u8], xor: impl FnOnce(&mut [u8; N])) {
    let mut buffer = [0; N];
    buffer[..part.len()].copy_from_slice(part);
    xor(&mut buffer);
    part.copy_from_slice(&buffer[..part.len()]);
    wipe(&mut buffer);
}

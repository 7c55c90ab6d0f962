//! SHA-256 (FIPS 180-4). With `std` the compression function is that of the crate `sha2`, which
//! takes the CPU's instructions where it has them and is as fast as AWS-LC's; without, it is one
//! for microcontrollers. A state behind whole blocks can be kept and resumed, which is what HMAC
//! with a prepared key needs.

// Compiled beside the other one in tests, which compare the two.
#[cfg(any(not(feature = "std"), test))]
mod portable;

use core::slice;

#[cfg(not(feature = "std"))]
use portable::compress256;
#[cfg(feature = "std")]
use sha2::block_api::compress256;

use crate::low::wipe::{WipeOnDrop, wipe};

/// Length of a digest in bytes.
pub(crate) const LEN: usize = 32;
/// Length of a block in bytes.
pub(crate) const BLOCK_LEN: usize = 64;
/// The block's last bytes, which hold the length of the message in bits.
const LENGTH_AT: usize = BLOCK_LEN - 8;

/// The hash value behind whole blocks (FIPS 180-4, 6.2).
pub(crate) type State = [u32; 8];

/// The initial hash value H(0) (FIPS 180-4, 5.3.3).
pub(crate) const INITIAL: State = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// `state` after one more block.
pub(crate) fn compress(state: &mut State, block: &[u8; BLOCK_LEN]) {
    compress256(state, slice::from_ref(block));
}

/// A hash of data that comes in pieces. Wiped when dropped.
#[derive(Clone)]
pub(crate) struct Hasher(WipeOnDrop<Message>);

#[derive(Clone, Copy)]
struct Message {
    state: State,
    /// Bytes in all, those before the state among them.
    len: u64,
    block: [u8; BLOCK_LEN],
    /// Bytes that wait in `block`: fewer than a block.
    filled: usize,
}

impl Message {
    const EMPTY: Self = Self { state: [0; 8], len: 0, block: [0; BLOCK_LEN], filled: 0 };
}

impl Hasher {
    pub(crate) fn new() -> Self {
        Self::resume(&INITIAL, 0)
    }

    /// Continues behind `len` bytes, a multiple of [`BLOCK_LEN`], of which `state` is left.
    pub(crate) fn resume(state: &State, len: u64) -> Self {
        // Made where it stays: a whole message would be copied there.
        let mut hasher = Self(WipeOnDrop::new(Message::EMPTY));
        hasher.0.state = *state;
        hasher.0.len = len;
        hasher
    }

    pub(crate) fn update(&mut self, mut data: &[u8]) {
        let Message { state, len, block, filled } = &mut *self.0;
        // No machine hashes 2^61 bytes, where the length in bits would end.
        *len = len.wrapping_add(data.len() as u64);
        if *filled > 0 {
            let (head, rest) = data.split_at(data.len().min(BLOCK_LEN - *filled));
            block[*filled..*filled + head.len()].copy_from_slice(head);
            *filled += head.len();
            if *filled < BLOCK_LEN {
                return;
            }
            compress(state, block);
            data = rest;
        }
        let (blocks, tail) = data.as_chunks::<BLOCK_LEN>();
        if !blocks.is_empty() {
            compress256(state, blocks);
        }
        block[..tail.len()].copy_from_slice(tail);
        *filled = tail.len();
    }

    /// Returns the digest. The hasher must not be used afterwards, but need not be moved.
    pub(crate) fn finish(&mut self) -> [u8; LEN] {
        let Message { state, len, block, filled } = &mut *self.0;
        block[*filled] = 0x80;
        block[*filled + 1..].fill(0);
        if *filled >= LENGTH_AT {
            compress(state, block);
            block.fill(0);
        }
        block[LENGTH_AT..].copy_from_slice(&len.wrapping_mul(8).to_be_bytes());
        compress(state, block);
        to_bytes(state)
    }
}

/// The hash of 32 more bytes behind `state`, which is left of one block: the outer hash of HMAC. In
/// one compression, without the buffer of a [`Hasher`].
pub(crate) fn behind_block(state: &State, digest: &[u8; LEN]) -> [u8; LEN] {
    const BITS: u64 = 8 * (BLOCK_LEN + LEN) as u64;

    let mut state = WipeOnDrop::new(*state);
    let mut block = [0; BLOCK_LEN];
    block[..LEN].copy_from_slice(digest);
    block[LEN] = 0x80;
    block[LENGTH_AT..].copy_from_slice(&BITS.to_be_bytes());
    compress(&mut state, &block);
    wipe(&mut block);
    to_bytes(&state)
}

fn to_bytes(state: &State) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
    bytes
}

//! Compression function of SHA-256 (FIPS 180-4, 6.2.2) for processors with 32-bit registers and no
//! instructions for it. The schedule is sixteen words that are replaced as they are used.
//!
//! There is no branch and no address that depends on the data.

use super::{BLOCK_LEN, State};

/// The round constants K, four in a row (FIPS 180-4, 4.2.2).
const K: [[u32; 16]; 4] = [
    [
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174,
    ],
    [
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc,
        0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
        0x06ca6351, 0x14292967,
    ],
    [
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e,
        0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624,
        0xf40e3585, 0x106aa070,
    ],
    [
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
        0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb,
        0xbef9a3f7, 0xc67178f2,
    ],
];

/// Updates `state` with the blocks, in their order.
pub(super) fn compress256(state: &mut State, blocks: &[[u8; BLOCK_LEN]]) {
    for block in blocks {
        compress(state, block);
    }
}

fn compress(state: &mut State, block: &[u8; BLOCK_LEN]) {
    let mut w = [0_u32; 16];
    for (word, bytes) in w.iter_mut().zip(block.as_chunks().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    macro_rules! round {
        ($a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident $k:ident $i:literal) => {
            let sum = $e.rotate_right(6) ^ $e.rotate_right(11) ^ $e.rotate_right(25);
            let t = $h
                .wrapping_add(sum)
                .wrapping_add($g ^ ($e & ($f ^ $g)))
                .wrapping_add($k[$i])
                .wrapping_add(w[$i]);
            $d = $d.wrapping_add(t);
            let sum = $a.rotate_right(2) ^ $a.rotate_right(13) ^ $a.rotate_right(22);
            $h = t.wrapping_add(sum).wrapping_add(($a & $b) | ($c & ($a | $b)));
        };
    }
    for (at, k) in K.iter().enumerate() {
        if at > 0 {
            extend(&mut w);
        }
        round!(a b c d e f g h k 0);
        round!(h a b c d e f g k 1);
        round!(g h a b c d e f k 2);
        round!(f g h a b c d e k 3);
        round!(e f g h a b c d k 4);
        round!(d e f g h a b c k 5);
        round!(c d e f g h a b k 6);
        round!(b c d e f g h a k 7);
        round!(a b c d e f g h k 8);
        round!(h a b c d e f g k 9);
        round!(g h a b c d e f k 10);
        round!(f g h a b c d e k 11);
        round!(e f g h a b c d k 12);
        round!(d e f g h a b c k 13);
        round!(c d e f g h a b k 14);
        round!(b c d e f g h a k 15);
    }
    for (word, add) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(add);
    }
}

/// The next sixteen words of the schedule. Inlined, so that indices are constants.
#[inline(always)]
fn extend(w: &mut [u32; 16]) {
    macro_rules! step {
        ($($i:literal)*) => {$(
            let x = w[($i + 1) % 16];
            let y = w[($i + 14) % 16];
            w[$i] = w[$i]
                .wrapping_add(x.rotate_right(7) ^ x.rotate_right(18) ^ (x >> 3))
                .wrapping_add(w[($i + 9) % 16])
                .wrapping_add(y.rotate_right(17) ^ y.rotate_right(19) ^ (y >> 10));
        )*};
    }
    step!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mid::sha256::INITIAL;

    #[test]
    fn states_are_those_of_the_crate_sha2() {
        let (mut own, mut twin) = (INITIAL, INITIAL);
        let mut block = [0_u8; BLOCK_LEN];
        for round in 0..200_u8 {
            // All zeros, all ones, then bytes of the states before.
            match round {
                0 => {}
                1 => block.fill(0xff),
                _ => {
                    for (at, byte) in block.iter_mut().enumerate() {
                        *byte =
                            byte.wrapping_mul(31).wrapping_add(own[at % 8].to_le_bytes()[at % 4]);
                    }
                }
            }
            let blocks = [block, [round; BLOCK_LEN]];
            compress256(&mut own, &blocks);
            sha2::block_api::compress256(&mut twin, &blocks);
            assert_eq!(own, twin, "{round}");
        }
        let before = own;
        compress256(&mut own, &[]);
        assert_eq!(own, before);
    }
}

//! AES-256 byte by byte (FIPS 197), and CBC (NIST SP 800-38A): one state of 16 bytes, one table, no
//! special instructions, like small libraries for microcontrollers. Not constant-time.

const ROUNDS: usize = 14;

/// Multiplies by x in the field of AES.
const fn times_x(byte: u8) -> u8 {
    (byte << 1) ^ ((byte >> 7) * 0x1b)
}

/// Substitution of each byte: its inverse in the field, then an affine map. The loop computes the
/// powers of 3 and of its inverse in parallel.
const SUBSTITUTION: [u8; 256] = {
    let mut table = [0; 256];
    let (mut power, mut inverse) = (1_u8, 1_u8);
    loop {
        power ^= times_x(power);
        // Division by 3.
        inverse ^= inverse << 1;
        inverse ^= inverse << 2;
        inverse ^= inverse << 4;
        inverse ^= (inverse >> 7) * 0x09;
        let turned = inverse
            ^ inverse.rotate_left(1)
            ^ inverse.rotate_left(2)
            ^ inverse.rotate_left(3)
            ^ inverse.rotate_left(4);
        table[power as usize] = turned ^ 0x63;
        if power == 1 {
            break;
        }
    }
    table[0] = 0x63;
    table
};

const INVERSE: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    loop {
        table[SUBSTITUTION[byte as usize] as usize] = byte;
        if byte == 255 {
            break;
        }
        byte += 1;
    }
    table
};

/// An expanded key.
pub(super) struct Cipher {
    round_keys: [[u8; 16]; ROUNDS + 1],
}

impl Cipher {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        let mut words = [[0_u8; 4]; 4 * (ROUNDS + 1)];
        for (word, bytes) in words.iter_mut().zip(key.as_chunks().0) {
            *word = *bytes;
        }
        let mut constant = 1;
        for at in 8..words.len() {
            let mut word = words[at - 1];
            if at % 8 == 0 {
                word.rotate_left(1);
                word = word.map(substituted);
                word[0] ^= constant;
                constant = times_x(constant);
            } else if at % 8 == 4 {
                word = word.map(substituted);
            }
            for (byte, earlier) in word.iter_mut().zip(words[at - 8]) {
                *byte ^= earlier;
            }
            words[at] = word;
        }
        let mut round_keys = [[0; 16]; ROUNDS + 1];
        let bytes = round_keys.as_flattened_mut();
        bytes.copy_from_slice(words.as_flattened());
        Self { round_keys }
    }

    /// Encrypts whole blocks in place.
    pub(super) fn encrypt_cbc(&self, iv: &[u8; 16], blocks: &mut [u8]) {
        let mut previous = *iv;
        for block in blocks.as_chunks_mut().0 {
            add(block, &previous);
            self.encrypt(block);
            previous = *block;
        }
    }

    /// Decrypts whole blocks in place.
    pub(super) fn decrypt_cbc(&self, iv: &[u8; 16], blocks: &mut [u8]) {
        let mut previous = *iv;
        for block in blocks.as_chunks_mut().0 {
            let sealed = *block;
            self.decrypt(block);
            add(block, &previous);
            previous = sealed;
        }
    }

    fn encrypt(&self, state: &mut [u8; 16]) {
        add(state, &self.round_keys[0]);
        for round in 1..=ROUNDS {
            *state = state.map(substituted);
            shift_rows(state);
            if round < ROUNDS {
                mix_columns(state);
            }
            add(state, &self.round_keys[round]);
        }
    }

    fn decrypt(&self, state: &mut [u8; 16]) {
        for round in (1..=ROUNDS).rev() {
            add(state, &self.round_keys[round]);
            if round < ROUNDS {
                unmix_columns(state);
            }
            unshift_rows(state);
            *state = state.map(|byte| INVERSE[usize::from(byte)]);
        }
        add(state, &self.round_keys[0]);
    }
}

fn substituted(byte: u8) -> u8 {
    SUBSTITUTION[usize::from(byte)]
}

fn add(state: &mut [u8; 16], other: &[u8; 16]) {
    for (byte, other) in state.iter_mut().zip(other) {
        *byte ^= other;
    }
}

/// Rotates row `r`, which consists of the bytes `r`, `r + 4` and so on, left by `r`.
fn shift_rows(state: &mut [u8; 16]) {
    let old = *state;
    for (at, byte) in state.iter_mut().enumerate() {
        *byte = old[(at + 4 * (at % 4)) % 16];
    }
}

fn unshift_rows(state: &mut [u8; 16]) {
    let old = *state;
    for (at, byte) in old.into_iter().enumerate() {
        state[(at + 4 * (at % 4)) % 16] = byte;
    }
}

fn mix_columns(state: &mut [u8; 16]) {
    for column in state.as_chunks_mut::<4>().0 {
        let [a, b, c, d] = *column;
        let all = a ^ b ^ c ^ d;
        *column = [
            a ^ all ^ times_x(a ^ b),
            b ^ all ^ times_x(b ^ c),
            c ^ all ^ times_x(c ^ d),
            d ^ all ^ times_x(d ^ a),
        ];
    }
}

/// Inverts MixColumns: adds to each byte 4 times its sum with the next but one, then applies
/// MixColumns.
fn unmix_columns(state: &mut [u8; 16]) {
    for column in state.as_chunks_mut::<4>().0 {
        let [a, b, c, d] = *column;
        let even = times_x(times_x(a ^ c));
        let odd = times_x(times_x(b ^ d));
        *column = [a ^ even, b ^ odd, c ^ even, d ^ odd];
    }
    mix_columns(state);
}

#[cfg(test)]
mod tests {
    use ::aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};

    use super::*;

    #[test]
    fn blocks_are_those_of_fips_197() {
        assert_eq!((SUBSTITUTION[0], SUBSTITUTION[0x53], SUBSTITUTION[0xff]), (0x63, 0xed, 0x16));
        let key = core::array::from_fn(|at| u8::try_from(at).unwrap());
        let mut block = core::array::from_fn(|at| u8::try_from(at * 0x11).unwrap());
        let plain = block;
        Cipher::new(&key).encrypt(&mut block);
        assert_eq!(block[..4], [0x8e, 0xa2, 0xb7, 0xca]);
        Cipher::new(&key).decrypt(&mut block);
        assert_eq!(block, plain);
    }

    #[test]
    fn every_block_is_that_of_the_crate() {
        let mut block = [7; 16];
        for first in 0..=255 {
            let key = [first; 32];
            let theirs = ::aes::Aes256::new(&key.into());
            let mut expected = block.into();
            theirs.encrypt_block(&mut expected);
            Cipher::new(&key).encrypt(&mut block);
            assert_eq!(block, <[u8; 16]>::from(expected));
            let (mut own, mut expected) = ([first; 16], [first; 16].into());
            theirs.decrypt_block(&mut expected);
            Cipher::new(&key).decrypt(&mut own);
            assert_eq!(own, <[u8; 16]>::from(expected));
        }
    }
}

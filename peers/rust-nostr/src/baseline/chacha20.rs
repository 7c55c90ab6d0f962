//! ChaCha20 (RFC 8439), block by block and byte by byte, with a counter from 0.

/// Encrypts `message`, or decrypts it.
pub(super) fn applied(key: &[u8; 32], nonce: &[u8; 12], message: &[u8]) -> Vec<u8> {
    let mut state = [0_u32; 16];
    state[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
    let words =
        key.as_chunks().0.iter().chain(nonce.as_chunks().0).map(|it| u32::from_le_bytes(*it));
    let places = (4..12).chain(13..16);
    for (place, word) in places.zip(words) {
        state[place] = word;
    }
    let mut output = vec![0; message.len()];
    let (mut stream, mut used) = ([0; 64], 64);
    for (out, byte) in output.iter_mut().zip(message) {
        if used == 64 {
            stream = block(&state);
            state[12] = state[12].wrapping_add(1);
            used = 0;
        }
        *out = byte ^ stream[used];
        used += 1;
    }
    output
}

fn block(state: &[u32; 16]) -> [u8; 64] {
    let mut words = *state;
    for _ in 0..10 {
        for [a, b, c, d] in [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]] {
            quarter(&mut words, a, b, c, d);
        }
        for [a, b, c, d] in [[0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]] {
            quarter(&mut words, a, b, c, d);
        }
    }
    let mut bytes = [0; 64];
    for ((four, word), start) in bytes.as_chunks_mut().0.iter_mut().zip(words).zip(state) {
        *four = word.wrapping_add(*start).to_le_bytes();
    }
    bytes
}

fn quarter(words: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
    words[a] = words[a].wrapping_add(words[b]);
    words[d] = (words[d] ^ words[a]).rotate_left(16);
    words[c] = words[c].wrapping_add(words[d]);
    words[b] = (words[b] ^ words[c]).rotate_left(12);
    words[a] = words[a].wrapping_add(words[b]);
    words[d] = (words[d] ^ words[a]).rotate_left(8);
    words[c] = words[c].wrapping_add(words[d]);
    words[b] = (words[b] ^ words[c]).rotate_left(7);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_those_of_rfc_8439() {
        // Appendix A.1, test vectors 1 and 2: zero key and nonce, counters 0 and 1.
        let stream = applied(&[0; 32], &[0; 12], &[0; 128]);
        assert_eq!(stream[..4], [0x76, 0xb8, 0xe0, 0xad]);
        assert_eq!(stream[60..68], [0xb2, 0xee, 0x65, 0x86, 0x9f, 0x07, 0xe7, 0xbe]);
    }
}

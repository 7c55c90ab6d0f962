//! UTF-8: the larger part of what decoding a text costs.

use crate::error::DecodeError;

/// The bytes as text (RFC 3629).
#[inline]
pub(crate) fn validate(bytes: &[u8]) -> Result<&str, DecodeError> {
    simdutf8::basic::from_utf8(bytes).map_err(|_| DecodeError::Utf8)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// The validator looks at 64 bytes at a time, or at less than 64 in another way.
    const EDGES: [usize; 4] = [0, 64, 128, 192];
    /// First and last bytes of characters at their limits, bytes that no character has, and
    /// characters that are cut short.
    const PARTS: [&[u8]; 24] = [
        b"\x00",
        b"\x7f",
        b"\x80",
        b"\xbf",
        b"\xc0\xaf",
        b"\xc1\xbf",
        b"\xc2\x80",
        b"\xdf\xbf",
        b"\xdf\x7f",
        b"\xe0\x9f\xbf",
        b"\xe0\xa0\x80",
        b"\xed\x9f\xbf",
        b"\xed\xa0\x80",
        b"\xef\xbf\xbf",
        b"\xef\xbf",
        b"\xe1\x80\xc0",
        b"\xf0\x8f\xbf\xbf",
        b"\xf0\x90\x80\x80",
        b"\xf4\x8f\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xf1\x80\x80",
        b"\xf5\x80\x80\x80",
        b"\xf8\x88\x80\x80\x80",
        b"\xff",
    ];

    fn is_judged_as_by_core(bytes: &[u8]) {
        let found = validate(bytes).map_err(|_| ());
        assert_eq!(found, core::str::from_utf8(bytes).map_err(|_| ()), "{bytes:02x?}");
    }

    #[test]
    fn characters_at_block_edges_are_judged_as_by_core() {
        for around in ["x", "\u{e9}", "\u{6771}", "\u{1f44d}"] {
            for len in EDGES.iter().flat_map(|edge| [edge + 5, edge + 32, edge + 64]) {
                let text: Vec<u8> = around.bytes().cycle().take(len / 12 * 12).collect();
                for (edge, part) in EDGES.iter().flat_map(|edge| PARTS.map(|part| (edge, part))) {
                    for at in edge.saturating_sub(5)..(edge + 5).min(text.len()) {
                        let mut inserted = text.clone();
                        inserted.splice(at..at, part.iter().copied());
                        is_judged_as_by_core(&inserted);
                        inserted.truncate(at + part.len());
                        is_judged_as_by_core(&inserted);
                        let mut over = text.clone();
                        over.splice(at..(at + part.len()).min(text.len()), part.iter().copied());
                        is_judged_as_by_core(&over);
                    }
                }
            }
        }
    }

    #[test]
    fn mutants_are_judged_as_by_core() {
        let text = "caf\u{e9} \u{6771}\u{4eac} \u{1f680} plain words, and more of them. ".repeat(6);
        let mut state = 0x0123_4567_89ab_cdef_u64;
        let mut draw = || {
            // xorshift64: any will do, and the same everywhere.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let (mut accepted, mut refused) = (0, 0);
        for _ in 0..100_000 {
            let mut mutant = text.as_bytes().to_vec();
            for _ in 0..=draw() % 2 {
                let [low, .., high] = draw().to_le_bytes();
                let at = usize::from(low) % mutant.len();
                match draw() % 3 {
                    0 => mutant[at] = high,
                    1 => drop(mutant.remove(at)),
                    _ => mutant.truncate(mutant.len() - at),
                }
            }
            is_judged_as_by_core(&mutant);
            *(if validate(&mutant).is_ok() { &mut accepted } else { &mut refused }) += 1;
        }
        assert!(accepted > 1000 && refused > 1000, "{accepted} and {refused}: both are tested");
    }
}

//! Numbers of 7 bits a byte (docs/spec/store.md, "Packs").

/// Most bytes of one number: nine of 7 bits.
pub(crate) const MAX_LEN: usize = 9;

/// Appends a number below 2^63.
pub(crate) fn push(out: &mut Vec<u8>, number: u64) {
    let mut rest = number;
    loop {
        let [low, ..] = rest.to_le_bytes();
        rest >>= 7;
        if rest == 0 {
            out.push(low & 0x7f);
            break;
        }
        out.push(low | 0x80);
    }
}

/// The number that `rest` begins with, in the fewest bytes; none if it does not begin with one.
pub(crate) fn next(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            // A last group of nothing is one that another encoding leaves out.
            return (byte > 0 || shift == 0).then_some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_out_as_they_went_in() {
        let edges = (0..63).flat_map(|bit| [1_u64 << bit, (1 << bit) - 1, (1 << bit) + 1]);
        for number in edges.chain([0, (1 << 63) - 1]) {
            let mut out = Vec::new();
            push(&mut out, number);
            assert!(out.len() <= MAX_LEN);
            for end in 0..out.len() {
                assert_eq!(next(&mut &out[..end]), None, "{number} cut");
            }
            out.push(0xff);
            let mut rest = &out[..];
            assert_eq!(next(&mut rest), Some(number));
            assert_eq!(rest, [0xff]);
        }
    }

    #[test]
    fn other_encodings_are_refused() {
        for bad in [&[0x80, 0][..], &[0xff, 0x80, 0], &[0x81, 0], &[0xff; 9], &[0xff; 10], &[]] {
            assert_eq!(next(&mut &bad[..]), None, "{bad:?}");
        }
    }
}

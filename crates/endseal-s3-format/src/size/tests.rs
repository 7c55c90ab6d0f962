use super::*;

/// T as the specification writes it.
fn formula(plaintext: u64) -> u64 {
    let chunks = plaintext / 16_384 + 1;
    let slots = (plaintext / 5_242_880 + 1).min(10_000);
    plaintext + 16 * chunks + 92 + 80 * slots + 689
}

/// Edges of chunks and slots, the limits, and a few thousand others over all magnitudes.
fn lengths() -> Vec<u64> {
    let mut edges: Vec<u64> = vec![0, MAX_CONTENT];
    for slot in [0, 1, 2, 319, 9_998, 9_999, 10_000, 10_001, 1_048_575, 1_048_576] {
        edges.push(slot * MIN_PART);
    }
    for chunk in [1, 2, 3, 319, 320, 321, 640, 3_199_679, 3_199_680, 3_199_681, 335_544_319] {
        edges.push(chunk * CHUNK);
    }
    let mut state = 1_u64;
    for i in 0..5_000 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        edges.push((state >> 16) % (MAX_CONTENT >> (i % 40)));
    }
    let around = |at: &u64| (-33_i64..=33).map(|d| at.saturating_add_signed(d)).collect::<Vec<_>>();
    edges.iter().flat_map(around).filter(|len| *len <= MAX_CONTENT).collect()
}

#[test]
fn lengths_are_those_of_the_formula_and_have_one_inverse() {
    for plaintext in lengths() {
        let sealed = sealed_len(plaintext).unwrap();
        assert_eq!(sealed, formula(plaintext), "{plaintext}");
        assert_eq!(plaintext_len(sealed), Some(plaintext), "{plaintext}");
        assert_eq!(sealed, chunks_len(plaintext).unwrap() + tail_len_max(plaintext));
        if plaintext < MAX_CONTENT {
            let next = formula(plaintext + 1);
            assert!(next > sealed, "{plaintext}");
            for none in sealed + 1..next {
                assert_eq!(plaintext_len(none), None, "{none} lies behind T({plaintext})");
            }
        }
    }
}

#[test]
fn all_lengths_up_to_two_slots() {
    let mut plaintext = 0;
    let last = formula(2 * MIN_PART + 20_000);
    for sealed in 0..=last {
        if formula(plaintext) == sealed {
            assert_eq!(plaintext_len(sealed), Some(plaintext));
            plaintext += 1;
        } else {
            assert_eq!(plaintext_len(sealed), None, "{sealed}");
        }
    }
    assert_eq!(plaintext, 2 * MIN_PART + 20_001);
}

#[test]
fn nothing_is_longer_than_five_tebibytes() {
    let longest = sealed_len(MAX_CONTENT).unwrap();
    assert_eq!(sealed_len(MAX_CONTENT + 1), None);
    assert_eq!(part_len(MAX_CONTENT + 1), None);
    for sealed in [longest + 1, longest + 2, longest + 16_400, u64::MAX - 1, u64::MAX] {
        assert_eq!(plaintext_len(sealed), None);
    }
    assert_eq!(sealed_len(u64::MAX), None);
}

#[test]
fn parts_have_the_length_of_salt_and_chunks() {
    assert_eq!(part_len(0), Some(40));
    assert_eq!(part_len(MIN_PART), Some(24 + 320 * 16_400 + 16));
    for plaintext in lengths() {
        let sealed = part_len(plaintext).unwrap();
        assert_eq!(sealed, 24 + plaintext + 16 * (plaintext / 16_384 + 1));
        assert_eq!(part_plaintext_len(sealed), Some(plaintext));
    }
    for sealed in [0, 23, 24, 39, 24 + 16_400, 24 + 16_415, u64::MAX] {
        assert_eq!(part_plaintext_len(sealed), None, "{sealed}");
    }
}

/// "Why it fits", by arithmetic: however the content is cut into parts, salts, chunks and record
/// fit into T(P).
#[test]
fn the_pad_is_never_negative() {
    let fits = |lengths: &[u64]| {
        let n = lengths.len() as u64;
        let plaintext: u64 = lengths.iter().sum();
        let body: u64 = lengths.iter().map(|len| part_len(*len).unwrap()).sum();
        let record = chunks_len(48 + 32 * n).unwrap() + SALT + 4;
        assert!(body + record <= formula(plaintext), "{n} parts, {plaintext} bytes");
        // A tail lies within what a reader fetches for it.
        assert!(formula(plaintext) - body <= tail_len_max(plaintext));
    };
    for n in [1, 2, 3, 509, 510, 511, 512, 1_022, 9_999, 10_000] {
        for last in [0, 1, 16_383, 16_384, MIN_PART - 1, MIN_PART] {
            // Lengths that waste most of a chunk, and those that waste nothing.
            for other in [MIN_PART, MIN_PART + 1, MIN_PART + 16_383, MIN_PART + 16_384] {
                let mut lengths = vec![other; n - 1];
                lengths.push(last);
                fits(&lengths);
            }
        }
    }
    let mut state = 7_u64;
    for n in (1..200).chain((200..10_000).step_by(487)) {
        let mut lengths = Vec::new();
        for i in 0..n {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            let extra = (state >> 33) % 40_000;
            lengths.push(if i == n - 1 { extra } else { MIN_PART + extra });
        }
        fits(&lengths);
    }
}

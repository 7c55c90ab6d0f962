//! Tests of stream prefixes: round trips, truncation at every byte, and 100,000 mutations.

use bytes::BytesMut;
use endseal_testing::SplitMix64;
use endseal_transport::{FRAME_INITIAL, FRAME_MAX, Prefix, PrefixError, StreamType};

const ALL: [StreamType; 3] = [StreamType::Control, StreamType::Message, StreamType::Exchange];

fn encoded(prefix: Prefix) -> Vec<u8> {
    let mut out = BytesMut::new();
    prefix.encode(&mut out);
    out.to_vec()
}

/// Builds a control prefix, which may be invalid.
fn control(random: &mut SplitMix64) -> Vec<u8> {
    let below = (2 * u64::from(FRAME_MAX)) >> random.below(20);
    let max = u32::try_from(random.below(below)).unwrap();
    encoded(Prefix::Control { max_payload: max })
}

#[test]
fn maxima_round_trip_within_their_bounds_and_every_cut_is_incomplete() {
    let mut random = SplitMix64::new(3);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..2000 {
        let bytes = control(&mut random);
        for cut in 0..bytes.len() {
            assert_eq!(Prefix::decode(&bytes[..cut], StreamType::Control), Ok(None), "{cut}");
        }
        match Prefix::decode(&bytes, StreamType::Control) {
            Ok(Some((prefix, len))) => {
                assert_eq!((encoded(prefix), len), (bytes.clone(), bytes.len()));
                accepted += 1;
            }
            Err(PrefixError::Maximum(max)) => {
                assert!(max < u64::from(FRAME_INITIAL) || max > u64::from(FRAME_MAX), "{max}");
                refused += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(accepted > 500 && refused > 500, "{accepted} {refused}");
}

#[test]
fn a_hundred_thousand_mutants_decode_to_what_encodes_to_them_or_to_an_error() {
    let mut random = SplitMix64::new(11);
    let (mut prefixes, mut refused, mut incomplete) = (0, 0, 0);
    for _ in 0..100_000 {
        let mut bytes = control(&mut random);
        bytes.push(random.next().to_le_bytes()[0]);
        let at = usize::try_from(random.below(bytes.len() as u64)).unwrap();
        match random.below(3) {
            0 => bytes[at] = random.next().to_le_bytes()[0],
            1 => bytes[at] ^= 1 << random.below(8),
            _ => bytes.truncate(at),
        }
        for expected in ALL {
            match Prefix::decode(&bytes, expected) {
                Ok(Some((prefix, len))) => {
                    assert_eq!(encoded(prefix), bytes[..len], "one encoding of each prefix");
                    prefixes += 1;
                }
                Ok(None) => incomplete += 1,
                Err(_) => refused += 1,
            }
        }
    }
    let counts = [prefixes, refused, incomplete];
    assert!(counts.iter().all(|&count| count > 10_000), "{counts:?}");
}

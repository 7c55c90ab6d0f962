//! The layout of frames: round trips, every length cut, and a hundred thousand mutants.

use bytes::{Bytes, BytesMut};
use endseal_transport::{Flags, Frame, FrameError, Prefix, StreamType};

use crate::pair::{Generator, frame, kind};

fn encoded(frame: &Frame) -> Bytes {
    let mut out = BytesMut::new();
    frame.encode(&mut out);
    out.freeze()
}

#[test]
fn frames_round_trip_and_every_cut_is_incomplete() {
    let mut random = Generator::new(3);
    for _ in 0..2000 {
        let bits = random.below(64);
        let sequence = random.next() >> bits;
        let len = usize::try_from(random.below(300)).unwrap();
        let mut one = frame(sequence, len);
        one.kind = kind(u8::try_from(random.below(16)).unwrap());
        if random.below(2) == 0 {
            one = one.with_flags(Flags::SEALED);
        }
        let bytes = encoded(&one);
        assert_eq!(Frame::decode(&bytes, 300), Ok(Some((one.clone(), bytes.len()))));
        for cut in 0..bytes.len() {
            assert_eq!(Frame::decode(&bytes.slice(..cut), 300), Ok(None), "{cut}");
        }
        if len > 0 {
            let max = u32::try_from(len - 1).unwrap();
            let error = FrameError::TooLarge { length: len as u64, max };
            assert_eq!(Frame::decode(&bytes, max), Err(error));
        }
    }
}

#[test]
fn a_hundred_thousand_mutants_decode_to_what_encodes_to_them_or_to_an_error() {
    let mut random = Generator::new(11);
    let (mut frames, mut refused, mut incomplete) = (0, 0, 0);
    for i in 0..100_000 {
        let original = frame(random.next() >> random.below(64), usize::try_from(i % 50).unwrap());
        let mut bytes = BytesMut::from(&encoded(&original)[..]);
        for _ in 0..=random.below(3) {
            let at = usize::try_from(random.below(bytes.len() as u64)).unwrap();
            match random.below(4) {
                // Headers are short, so most changes go there.
                0 | 1 => {
                    let at = at.min(12);
                    bytes[at] = random.next().to_le_bytes()[0];
                }
                2 => bytes.truncate(at.max(1)),
                _ => bytes[at] ^= 1 << random.below(8),
            }
        }
        let bytes = bytes.freeze();
        match Frame::decode(&bytes, 1 << 20) {
            Ok(Some((decoded, len))) => {
                assert_eq!(encoded(&decoded), bytes[..len], "one encoding of each frame");
                frames += 1;
            }
            Ok(None) => incomplete += 1,
            Err(_) => refused += 1,
        }
        for expected in [StreamType::Control, StreamType::Message, StreamType::Exchange] {
            if let Ok(Some((prefix, len))) = Prefix::decode(&bytes, expected) {
                let mut again = BytesMut::new();
                prefix.encode(&mut again);
                assert_eq!(again, bytes[..len]);
            }
        }
    }
    assert!(frames > 10_000 && refused > 10_000 && incomplete > 10_000, "{frames} {refused}");
}

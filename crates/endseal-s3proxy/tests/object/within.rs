//! Content that is sealed in its place is what content sealed to another place is.

use bytes::BytesMut;
use endseal_s3proxy::object::{Binding, Header, PartNumber, PartSealer, SealError, WholeSealer};

use crate::fixture::{Seeded, data, key, seal_part};

const CHUNK: usize = 16_384;
const SEALED: usize = 16_400;

/// Seals `content`, of which at most `most` bytes come at once, in a buffer with such a gap; what is sealed leaves
/// as in a server. The end that fills no chunk, and all that was sealed before it.
fn run(
    content: &[u8],
    gap: usize,
    most: usize,
    mut seal: impl FnMut(&mut [u8], usize) -> Result<usize, SealError>,
) -> (Vec<u8>, Vec<u8>) {
    let (mut buffer, mut left, mut out) = (vec![0xa5; gap], gap, Vec::new());
    for piece in content.chunks(most) {
        buffer.extend_from_slice(piece);
        let sealed = seal(&mut buffer, left).unwrap();
        out.extend(buffer.drain(..sealed));
        // Gap and content are what they were, but for the tags.
        left = left + sealed / SEALED * CHUNK - sealed;
    }
    (buffer.split_off(left), out)
}

#[test]
fn a_part_is_the_same() {
    for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 5 * CHUNK + 77] {
        let content = data(5, len as u64);
        let (expected, _) = seal_part(&key(2), 3, &content, &mut Seeded(4));
        for most in [1_000, CHUNK, 50_000, 1 << 20] {
            let number = PartNumber::new(3).unwrap();
            let mut sealer = PartSealer::new(&key(2), number, len as u64, &mut Seeded(4)).unwrap();
            let gap = 24 + 16 * (len / CHUNK) + 3;
            let (end, sealed) =
                run(&content, gap, most, |buffer, gap| sealer.seal_within(buffer, gap));
            let mut out = BytesMut::from(&sealed[..]);
            sealer.push(&end, &mut out).unwrap();
            sealer.finish(&mut out).unwrap();
            assert!(out == expected, "{len}, {most}");
        }
    }
}

fn whole(len: usize) -> WholeSealer {
    let mut random = Seeded(9);
    let (_, sealer) =
        Header::whole(&key(1), len as u64, Binding::Key, "k", b"wrapped", &mut random).unwrap();
    sealer
}

#[test]
fn a_whole_object_is_the_same() {
    for len in [1, CHUNK, 4 * CHUNK + 5] {
        let content = data(6, len as u64);
        let mut other = whole(len);
        let mut expected = BytesMut::new();
        other.push(&content, &mut expected).unwrap();
        other.finish(None, &mut expected).unwrap();
        let mut sealer = whole(len);
        let gap = 16 * (len / CHUNK);
        let (end, sealed) =
            run(&content, gap, 30_000, |buffer, gap| sealer.seal_within(buffer, gap));
        let mut out = BytesMut::from(&sealed[..]);
        sealer.push(&end, &mut out).unwrap();
        sealer.finish(None, &mut out).unwrap();
        assert!(out == expected, "{len}");
    }
}

#[test]
fn a_whole_object_at_once_is_the_same() {
    for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 4 * CHUNK + 5] {
        let content = data(6, len as u64);
        let mut expected = BytesMut::new();
        let mut sealer = whole(len);
        sealer.push(&content, &mut expected).unwrap();
        sealer.finish(None, &mut expected).unwrap();
        let mut out = vec![0xa5; expected.len()];
        whole(len).seal(&content, None, &mut out).unwrap();
        assert!(out == expected, "{len}");
        for wrong in [0, expected.len() - 1, expected.len() + 1] {
            let mut out = vec![0; wrong];
            assert_eq!(whole(len).seal(&content, None, &mut out), Err(SealError::Length));
        }
        assert_eq!(whole(len + 1).seal(&content, None, &mut out), Err(SealError::Length));
    }
    let (mut sealer, mut out) = (whole(CHUNK), BytesMut::new());
    sealer.push(&[1], &mut out).unwrap();
    assert_eq!(sealer.seal(&data(6, CHUNK as u64), None, &mut out), Err(SealError::Length));
}

#[test]
fn no_more_is_sealed_than_the_gap_has_room_for() {
    let content = data(6, 4 * CHUNK as u64);
    for gap in [0, 15, 16, 31, 32, 63, 64, 100] {
        let mut sealer = whole(content.len());
        let mut buffer = [&vec![0xa5; gap], &content[..]].concat();
        let sealed = sealer.seal_within(&mut buffer, gap).unwrap();
        let chunks = (gap / 16).min(4);
        assert_eq!(sealed, chunks * SEALED);
        assert!(buffer[gap + chunks * CHUNK..] == content[chunks * CHUNK..], "the rest stays");
    }
    for gap in [0, 23, 24, 39] {
        let number = PartNumber::new(3).unwrap();
        let mut sealer =
            PartSealer::new(&key(2), number, content.len() as u64, &mut Seeded(4)).unwrap();
        let mut buffer = [&vec![0xa5; gap], &content[..]].concat();
        let before = buffer.clone();
        assert_eq!(sealer.seal_within(&mut buffer, gap), Ok(0), "no room for salt and tag");
        assert!(buffer == before);
    }
}

#[test]
fn more_than_announced_is_not_sealed() {
    let mut sealer = whole(CHUNK + 1);
    let mut buffer = vec![1; 64 + 2 * CHUNK];
    let before = buffer.clone();
    assert_eq!(sealer.seal_within(&mut buffer, 64), Err(SealError::Length));
    assert!(buffer == before);
    // A chunk has begun elsewhere.
    let mut out = BytesMut::new();
    sealer.push(&[1], &mut out).unwrap();
    assert_eq!(sealer.seal_within(&mut buffer[..64 + CHUNK], 64), Err(SealError::Length));
    assert!(buffer == before && out.is_empty());
    let mut short = [0; 10];
    let mut sealer = whole(CHUNK + 1);
    assert_eq!(sealer.seal_within(&mut short, 64), Ok(0), "a gap beyond the end");
}

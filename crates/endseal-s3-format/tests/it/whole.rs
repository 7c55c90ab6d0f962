//! Whole objects, which are uploaded in one request.

use bytes::BytesMut;
use endseal_s3_format::{
    AuthenticationFailed, Binding, Header, HeaderError, SealError, WholeOpener, size,
};
use endseal_s3_format::{ChecksumAlgorithm, ContentChecksum};

use crate::fixture::{Breaks, Broken, Reader, Seeded, Whole, at, data, key, open_whole};
use crate::header::{base64_decode, base64_encode};

const CHUNK: u64 = 16_384;
const SEALED: usize = 16_400;

#[test]
fn what_is_sealed_opens_and_has_the_length_of_t() {
    let edges = [0, 1, 100, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 7];
    let slots = [size::MIN_PART - 1, size::MIN_PART, size::MIN_PART + 1];
    for len in edges.into_iter().chain(slots) {
        let whole = Whole::new(len);
        assert_eq!(size::sealed_len(len), Some(whole.object.len() as u64), "{len}");
        let record = whole.open(&whole.object).unwrap();
        assert_eq!((record.plaintext_len(), record.checksum()), (len, None));
        assert_eq!(record.body_len() + size::tail_len_max(len), whole.object.len() as u64);
        assert_eq!(Header::parse(&whole.header.encode()).as_ref(), Ok(&whole.header));
    }
}

#[test]
fn checksums_are_kept() {
    for kind in [
        ChecksumAlgorithm::Crc32,
        ChecksumAlgorithm::Crc32c,
        ChecksumAlgorithm::Crc64Nvme,
        ChecksumAlgorithm::Sha1,
        ChecksumAlgorithm::Sha256,
    ] {
        let checksum = ContentChecksum::new(kind, &vec![0xc5; kind.value_len()]);
        let whole = Whole::with(1, 10, checksum);
        let record = whole.open(&whole.object).unwrap();
        assert_eq!(record.checksum(), checksum.as_ref());
        assert!(!record.is_composite());
    }
}

#[test]
fn pieces_of_any_size_give_the_same_bytes() {
    let mut sizes = Seeded::new(3);
    for round in 0..60 {
        let whole = Whole::new(sizes.below(5 * CHUNK));
        // Small pieces, large ones, and pieces of about one chunk.
        let most = [40, 3_000, 16_385, 70_000][round % 4];
        let mut pieces = |bytes: &[u8], each: &mut dyn FnMut(&[u8])| {
            let mut at = 0;
            while at < bytes.len() {
                let end = bytes.len().min(at + sizes.below(most) + usize::from(most == 40));
                each(&bytes[at..end]);
                at = end;
            }
        };
        let len = whole.content.len() as u64;
        let mut random = Seeded::new(1 << 32 | len);
        let (_, mut sealer) =
            Header::whole(&whole.key, len, &at(Binding::Key), ("k", b"wrapped"), &mut random)
                .unwrap();
        let mut object = BytesMut::new();
        pieces(&whole.content, &mut |piece| sealer.push(piece, &mut object).unwrap());
        sealer.finish(None, &mut object).unwrap();
        assert!(object == whole.object);

        let mut opener = WholeOpener::new(&whole.header, &whole.key).unwrap();
        let (mut reader, mut content) = (Reader::default(), Vec::new());
        pieces(&whole.object, &mut |piece| {
            reader.push(piece, &mut |buffer| opener.open(buffer), &mut content).unwrap();
        });
        content.extend_from_slice(&opener.finish().unwrap().0);
        assert!(content == whole.content);
    }
}

/// Pushes single bytes, so that the released bytes can be compared with those that had arrived.
#[test]
fn nothing_is_released_before_it_is_authentic() {
    let whole = Whole::new(2 * CHUNK + 5);
    let mut opener = WholeOpener::new(&whole.header, &whole.key).unwrap();
    assert_eq!(opener.sealed_len(), whole.object.len() as u64);
    let (mut reader, mut out) = (Reader::default(), Vec::new());
    for (at, byte) in whole.object.iter().enumerate() {
        reader.push(&[*byte], &mut |buffer| opener.open(buffer), &mut out).unwrap();
        let came = at + 1;
        assert_eq!(out.len(), (came / SEALED).min(2) * 16_384, "after {came} bytes");
    }
    out.extend_from_slice(&opener.finish().unwrap().0);
    assert!(out == whole.content);
}

#[test]
fn every_flipped_byte_is_refused() {
    for len in [0, 1, 3 * CHUNK - 20] {
        let whole = Whole::new(len);
        let mut object = whole.object.clone();
        for at in 0..object.len() {
            object[at] ^= 1 << (at % 8);
            assert_eq!(whole.open(&object), Err(AuthenticationFailed), "byte {at} of {len}");
            object[at] ^= 1 << (at % 8);
        }
        assert!(whole.open(&object).is_ok());
    }
}

#[test]
fn every_other_length_is_refused() {
    let whole = Whole::new(2 * CHUNK + 40);
    let object = &whole.object;
    let near_edges = (0..200).chain(SEALED - 20..SEALED + 20).chain(2 * SEALED - 20..object.len());
    for len in near_edges {
        assert_eq!(whole.open(&object[..len]), Err(AuthenticationFailed), "cut to {len}");
    }
    for more in [1, 16, 80, 92, SEALED] {
        let longer = [&object[..], &vec![0; more]].concat();
        assert_eq!(whole.open(&longer), Err(AuthenticationFailed), "{more} bytes behind it");
    }
}

#[test]
fn chunks_dropped_doubled_and_swapped_are_refused() {
    let whole = Whole::new(3 * CHUNK + 100);
    let chunk = |i: usize| &whole.object[i * SEALED..(i + 1) * SEALED];
    let (last, tail) = whole.object[3 * SEALED..].split_at(116);
    let orders: [&[&[u8]]; 9] = [
        &[chunk(0), chunk(1), last],
        &[chunk(1), chunk(2), last],
        &[chunk(0), chunk(0), chunk(1), chunk(2), last],
        &[chunk(0), chunk(0), chunk(2), last],
        &[chunk(1), chunk(0), chunk(2), last],
        &[chunk(0), chunk(2), chunk(1), last],
        &[chunk(0), chunk(1), chunk(2)],
        &[chunk(0), chunk(1), chunk(2), last, last],
        &[chunk(0), chunk(1), last, chunk(2)],
    ];
    for (i, order) in orders.iter().enumerate() {
        let object = [&order.concat(), tail].concat();
        assert_eq!(whole.open(&object), Err(AuthenticationFailed), "order {i}");
    }
}

/// A shorter object of the same chunks is refused, because the length in the header is part of the
/// context.
#[test]
fn a_shorter_object_of_the_same_chunks_is_refused() {
    let whole = Whole::new(2 * CHUNK);
    // The length follows version, form, binding and flags.
    let mut bytes = base64_decode(&whole.header.encode());
    bytes[4..12].copy_from_slice(&CHUNK.to_be_bytes());
    let shorter = Header::parse(&base64_encode(&bytes)).unwrap();
    assert_eq!(shorter.plaintext_len(), Some(CHUNK));
    assert_eq!(WholeOpener::new(&shorter, &whole.key).err(), Some(AuthenticationFailed));
    assert_eq!(shorter.verify(&whole.key), Err(AuthenticationFailed));
}

#[test]
fn another_objects_bytes_header_or_key_are_refused() {
    let (one, other) = (Whole::with(1, 40_000, None), Whole::with(7, 40_000, None));
    assert_eq!(one.open(&other.object), Err(AuthenticationFailed));
    assert_eq!(WholeOpener::new(&one.header, &other.key).err(), Some(AuthenticationFailed));
    assert_eq!(WholeOpener::new(&other.header, &one.key).err(), Some(AuthenticationFailed));
    // The same key, which a writer must not use twice, with the tail of the other body.
    let again = Whole::with(1, 40_001, None);
    assert_eq!(one.open(&again.object), Err(AuthenticationFailed));
    let spliced = [&one.object[..40_048], &again.object[40_049..]].concat();
    assert_eq!(spliced.len(), one.object.len());
    assert_eq!(one.open(&spliced), Err(AuthenticationFailed), "its record has another length");
}

#[test]
fn an_opener_that_failed_keeps_failing() {
    let whole = Whole::new(3 * CHUNK);
    let mut opener = WholeOpener::new(&whole.header, &whole.key).unwrap();
    let mut object = whole.object.clone();
    let taken = opener.open(&mut object[..SEALED]).unwrap();
    assert_eq!((taken.sealed, taken.content), (SEALED, CHUNK as usize));
    assert!(object[..CHUNK as usize] == whole.content[..CHUNK as usize]);
    let mut spoiled = whole.object[SEALED..2 * SEALED].to_vec();
    spoiled[5] ^= 1;
    assert_eq!(opener.open(&mut spoiled), Err(AuthenticationFailed));
    let content = &whole.content[CHUNK as usize..];
    assert!(!spoiled.windows(32).any(|bytes| content.starts_with(bytes)), "it was wiped");
    assert_eq!(opener.open(&mut object[SEALED..]), Err(AuthenticationFailed));
    assert_eq!(opener.open(&mut []), Err(AuthenticationFailed));
    assert!(opener.finish().is_err());
}

#[test]
fn other_content_than_announced_is_not_sealed() {
    let sealer = |len| {
        let made =
            Header::whole(&key(1), len, &at(Binding::None), ("k", b"w"), &mut Seeded::new(1));
        made.unwrap().1
    };
    let content = data(1, 20_001);
    for (announced, came) in [(0, 1), (20_000, 20_001), (16_384, 16_385), (100, 20_000)] {
        let mut out = BytesMut::new();
        let pushed = sealer(announced).push(&content[..came], &mut out);
        assert_eq!(pushed, Err(SealError::Length), "{came} for {announced}");
        assert!(out.is_empty());
    }
    for (announced, came) in [(1, 0), (20_001, 20_000), (16_385, 16_384)] {
        let mut out = BytesMut::new();
        let mut sealer = sealer(announced);
        sealer.push(&content[..came], &mut out).unwrap();
        let before = out.len();
        let finished = sealer.finish(None, &mut out);
        assert_eq!(finished, Err(SealError::Length), "{came} for {announced}");
        assert_eq!(out.len(), before, "no last chunk was made");
    }
}

#[test]
fn without_randomness_nothing_is_sealed() {
    let made = Header::whole(&key(1), 5, &at(Binding::None), ("k", b"w"), &mut Broken);
    assert_eq!(made.err(), Some(HeaderError::Random));
    // The source also fails when there is randomness for the header, but none for the record.
    let made = Header::whole(&key(1), 5, &at(Binding::None), ("k", b"w"), &mut Breaks(1));
    assert_eq!(made.err(), Some(HeaderError::Random));
    let made = Header::whole(&key(1), 5, &at(Binding::None), ("k", b"w"), &mut Breaks(2));
    assert!(made.is_ok());
}

#[test]
fn a_header_of_parts_opens_no_body() {
    let header =
        Header::multipart(&key(1), &at(Binding::None), ("k", b"w"), &mut Seeded::new(1)).unwrap();
    assert_eq!(WholeOpener::new(&header, &key(1)).err(), Some(AuthenticationFailed));
    let (released, opened) = open_whole(&header, &key(1), &Whole::new(10).object, 100);
    assert_eq!((released.len(), opened), (0, Err(AuthenticationFailed)));
}

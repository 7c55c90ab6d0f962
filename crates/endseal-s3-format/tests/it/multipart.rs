//! Multipart objects, which a backend joins from parts.

use bytes::BytesMut;
use endseal_s3_format::{
    AuthenticationFailed, Binding, Entry, Header, PartNumber, PartSealer, Record, SealError, size,
};

use crate::fixture::{
    Broken, Multipart, Seeded, Whole, at, data, key, open_range, open_record, push_all, seal_part,
};

const MIN: u64 = size::MIN_PART;

/// Returns three parts with gaps in their numbers. The second one ends with a full chunk.
fn three() -> Multipart {
    Multipart::new(&[(1, MIN), (4, MIN + 16_384), (9_999, 20_000)], |_| true)
}

#[test]
fn what_is_sealed_opens_and_has_the_length_of_t() {
    for parts in [
        &[(1, 0)][..],
        &[(1, 1)],
        &[(10_000, 100)],
        &[(7, 16_384)],
        &[(1, MIN)],
        &[(1, MIN), (2, 0)],
        &[(1, MIN + 5), (3, MIN), (5, 1)],
    ] {
        for bound in [true, false] {
            let made = Multipart::new(parts, |_| bound);
            let object = made.object();
            let total = object.len() as u64;
            assert_eq!(size::sealed_len(made.content.len() as u64), Some(total), "{parts:?}");
            assert_eq!(made.record.body_len() + made.tail.len() as u64, total);
            assert!(made.tail.len() as u64 <= size::tail_len_max(made.content.len() as u64));
            let record = made.open(&object).unwrap();
            assert_eq!(record, made.record);
            // The whole object is a tail as well.
            let whole = Record::open_tail(&made.header, &made.key, total, &object);
            assert_eq!(whole.as_ref(), Ok(&made.record));
        }
    }
}

#[test]
fn pieces_of_any_size_give_the_same_part() {
    let content = data(5, 70_000);
    let mut sizes = Seeded::new(8);
    let (expected, _) = seal_part(&key(2), 3, &content, &mut Seeded::new(4));
    for most in [1, 30, 16_385, 50_000] {
        let number = PartNumber::new(3).unwrap();
        let mut sealer = PartSealer::new(&key(2), number, 70_000, &mut Seeded::new(4)).unwrap();
        let (mut part, mut at) = (BytesMut::new(), 0);
        while at < content.len() {
            let end = content.len().min(at + 1 + sizes.below(most));
            sealer.push(&content[at..end], &mut part).unwrap();
            at = end;
        }
        sealer.finish(&mut part).unwrap();
        assert!(part == expected);
    }
}

#[test]
fn two_uploads_of_a_part_share_nothing() {
    let mut random = Seeded::new(1);
    let (one, _) = seal_part(&key(2), 3, &data(5, 100), &mut random);
    let (other, _) = seal_part(&key(2), 3, &data(5, 100), &mut random);
    assert!(one.iter().zip(&other).filter(|(a, b)| a == b).count() < 20);
}

/// Changes each byte of a short object: salt, chunk, pad, record and length.
#[test]
fn every_flipped_byte_of_a_short_object_is_refused() {
    for bound in [true, false] {
        for len in [0, 100, 16_384] {
            let made = Multipart::new(&[(3, len)], |_| bound);
            let mut object = made.object();
            for at in 0..object.len() {
                object[at] ^= 1 << (at % 8);
                assert_eq!(made.open(&object), Err(AuthenticationFailed), "byte {at} of {len}");
                object[at] ^= 1 << (at % 8);
            }
        }
    }
}

#[test]
fn flipped_bytes_of_three_parts_are_refused() {
    flip(4);
}

#[test]
#[ignore = "nightly: every place around the edges, and one of every chunk"]
fn flipped_bytes_of_every_chunk_are_refused() {
    flip(1);
}

/// Flips a bit at each `step`th position.
fn flip(step: usize) {
    let made = three();
    let mut object = made.object();
    let mut edges = vec![0];
    for part in &made.parts {
        edges.push(edges.last().unwrap() + part.len());
    }
    let body = *edges.last().unwrap();
    // Positions around salts, first and last chunks, and the tail; then a stride that hits every
    // chunk once.
    let near = |at: &usize| at.saturating_sub(40)..at + 60;
    let mut places: Vec<usize> = edges.iter().flat_map(near).collect();
    places.extend(object.len() - 300..object.len());
    places.extend((0..body).step_by(16_411));
    places.extend((body..object.len()).step_by(3));
    for at in places.into_iter().step_by(step) {
        if at < object.len() {
            object[at] ^= 1 << (at % 8);
            assert_eq!(made.open(&object), Err(AuthenticationFailed), "byte {at}");
            object[at] ^= 1 << (at % 8);
        }
    }
    assert!(made.open(&object).is_ok());
}

#[test]
fn truncation_at_every_edge_is_refused() {
    let made = three();
    let object = made.object();
    let total = object.len() as u64;
    for cut in (1..=object.len() / 16_400).map(|i| object.len() - i * 16_400).chain(1..200) {
        assert_eq!(made.open(&object[..cut]), Err(AuthenticationFailed), "cut to {cut}");
    }
    // The backend reports the right length, but sends fewer bytes.
    let tail = &object[object.len() - 500..];
    for len in 0..500 {
        let opened = Record::open_tail(&made.header, &made.key, total, &tail[..len]);
        assert_eq!(opened, Err(AuthenticationFailed));
    }
    let range = 0..made.content.len() as u64;
    for cut in [24, 16_424, 16_425, 5_000_000, object.len() - 21_000] {
        let mut short = object[..cut].to_vec();
        let (released, opened) = push_all(&made, range.clone(), &short);
        assert_eq!(opened, Err(AuthenticationFailed), "cut to {cut}");
        assert!(made.content.starts_with(&released));
        // Zeros instead of the missing bytes.
        short.resize(object.len() - made.tail.len(), 0);
        assert_eq!(push_all(&made, range.clone(), &short).1, Err(AuthenticationFailed));
    }
}

#[test]
fn chunks_and_parts_dropped_doubled_and_swapped_are_refused() {
    // Equal lengths, so that all bytes keep their positions.
    let made = Multipart::new(&[(1, MIN), (2, MIN), (3, MIN)], |_| true);
    let [one, two, three] = [0, 1, 2].map(|i| &made.parts[i][..]);
    let join = |parts: &[&[u8]]| [parts.concat(), made.tail.clone()].concat();
    assert!(made.open(&join(&[one, two, three])).is_ok());
    let swapped_chunks = {
        let mut part = two.to_vec();
        let (first, second) = part[24..24 + 2 * 16_400].split_at_mut(16_400);
        first.swap_with_slice(second);
        part
    };
    let doubled_chunk = {
        let mut part = two.to_vec();
        part.copy_within(24..24 + 16_400, 24 + 16_400);
        part
    };
    for (why, object) in [
        ("parts swapped", join(&[two, one, three])),
        ("a part twice", join(&[one, one, three])),
        ("a part too many", join(&[one, two, three, three])),
        ("a part dropped", join(&[one, two])),
        ("chunks swapped", join(&[one, &swapped_chunks, three])),
        ("a chunk twice", join(&[one, &doubled_chunk, three])),
        ("a chunk dropped", join(&[one, &two[..two.len() - 16_400], three])),
        ("a last chunk dropped", join(&[one, &two[..two.len() - 16], three])),
        ("no tail", [one, two, three].concat()),
        ("tail first", [&made.tail, one, two, three].concat()),
    ] {
        assert_eq!(made.open(&object), Err(AuthenticationFailed), "{why}");
    }
}

#[test]
fn parts_of_another_upload_or_number_are_refused() {
    let made = Multipart::new(&[(1, MIN), (2, 500)], |_| true);
    let unbound = Multipart::new(&[(1, MIN), (2, 500)], |_| false);
    let mut random = Seeded::new(77);
    let content = data(2, 500);
    let (earlier, _) = seal_part(&made.key, 2, &content, &mut random);
    let (other_number, _) = seal_part(&made.key, 3, &content, &mut random);
    let (other_key, _) = seal_part(&key(9), 2, &content, &mut random);
    let object = |made: &Multipart, part: &[u8]| [&made.parts[0][..], part, &made.tail].concat();
    // An earlier upload of the same part with the same content is not the one that was completed.
    assert_eq!(made.open(&object(&made, &earlier)), Err(AuthenticationFailed));
    // If the client did not name the upload, both are accepted.
    assert!(unbound.open(&object(&unbound, &earlier)).is_ok());
    for part in [&other_number, &other_key] {
        assert_eq!(made.open(&object(&made, part)), Err(AuthenticationFailed));
        assert_eq!(unbound.open(&object(&unbound, part)), Err(AuthenticationFailed));
    }
}

#[test]
fn an_older_record_is_refused() {
    // The same upload completed with other parts: part 2 is replaced by another one of the same
    // length.
    let made = Multipart::new(&[(1, MIN), (2, 500)], |_| true);
    let mut random = Seeded::new(78);
    let (replaced, salt) = seal_part(&made.key, 2, &data(3, 500), &mut random);
    let mut entries = made.record.entries().to_vec();
    entries[1].salt = Some(salt);
    let newer = Record::multipart(entries, None, false).unwrap();
    let mut tail = BytesMut::new();
    newer.seal_tail(&made.header, &made.key, &mut random, &mut tail).unwrap();
    let object = |part: &[u8], tail: &[u8]| [&made.parts[0][..], part, tail].concat();
    let opened = open_record(&made.header, &made.key, &object(&replaced, &tail));
    assert_eq!(opened.as_ref(), Ok(&newer));
    assert_eq!(made.open(&object(&replaced, &made.tail)), Err(AuthenticationFailed));
    assert_eq!(made.open(&object(&made.parts[1], &tail)), Err(AuthenticationFailed));
    // With another length, the record does not match.
    let longer = Multipart::new(&[(1, MIN), (2, 501)], |_| true);
    assert_eq!(made.open(&object(&longer.parts[1], &made.tail)), Err(AuthenticationFailed));
}

#[test]
fn another_key_or_header_opens_no_record() {
    let made = Multipart::new(&[(1, 300)], |_| true);
    let object = made.object();
    assert_eq!(open_record(&made.header, &key(3), &object), Err(AuthenticationFailed));
    let other =
        Header::multipart(&key(3), &at(Binding::None), ("k", b"w"), &mut Seeded::new(5)).unwrap();
    assert_eq!(open_record(&other, &made.key, &object), Err(AuthenticationFailed));
    assert_eq!(open_record(&other, &key(3), &object), Err(AuthenticationFailed));
    // The key is right, but it commits to a whole object.
    let (whole, _) =
        Header::whole(&made.key, 300, &at(Binding::None), ("k", b"w"), &mut Seeded::new(6))
            .unwrap();
    assert_eq!(open_record(&whole, &made.key, &object), Err(AuthenticationFailed));
}

#[test]
fn a_part_number_is_between_1_and_10000() {
    for number in 0..=u16::MAX {
        let made = PartNumber::new(number);
        assert_eq!(made.map(PartNumber::get), (1..=10_000).contains(&number).then_some(number));
    }
    assert_eq!(PartNumber::MAX.get(), 10_000);
}

#[test]
fn other_content_than_announced_is_not_sealed() {
    let number = PartNumber::new(1).unwrap();
    let make = |len, random: &mut Seeded| PartSealer::new(&key(2), number, len, random);
    let mut out = BytesMut::new();
    let mut sealer = make(5, &mut Seeded::new(1)).unwrap();
    assert_eq!(sealer.push(b"123456", &mut out), Err(SealError::Length));
    sealer.push(b"1234", &mut out).unwrap();
    assert_eq!(sealer.finish(&mut out), Err(SealError::Length));
    assert!(out.len() <= 24, "a salt at most");
    let long = make(size::MAX_CONTENT + 1, &mut Seeded::new(1)).err();
    assert_eq!(long, Some(SealError::ContentTooLong));
    let broken = PartSealer::new(&key(2), number, 5, &mut Broken).err();
    assert_eq!(broken, Some(SealError::Random));
    let record = Record::whole(5, None).unwrap();
    let header = Whole::new(5).header;
    assert_eq!(record.seal_tail(&header, &key(2), &mut Broken, &mut out), Err(SealError::Random));
}

/// 10,000 parts: the tail is sealed without the 50 GB before it.
#[test]
fn ten_thousand_parts_have_a_tail() {
    for last in [0, 1, MIN] {
        let entry = |n: u16| Entry {
            number: PartNumber::new(n).unwrap(),
            plaintext_len: if n == 10_000 { last } else { MIN },
            salt: Some([(n % 251) as u8 + 1; 24]),
        };
        let record = Record::multipart((1..=10_000).map(entry).collect(), None, false).unwrap();
        let content = 9_999 * MIN + last;
        assert_eq!(record.plaintext_len(), content);
        let header =
            Header::multipart(&key(2), &at(Binding::None), ("k", b"w"), &mut Seeded::new(1))
                .unwrap();
        let mut tail = BytesMut::new();
        record.seal_tail(&header, &key(2), &mut Seeded::new(2), &mut tail).unwrap();
        let total = record.body_len() + tail.len() as u64;
        assert_eq!(size::sealed_len(content), Some(total));
        assert!(tail.len() as u64 <= size::tail_len_max(content));
        assert_eq!(Record::open_tail(&header, &key(2), total, &tail).as_ref(), Ok(&record));
        // The last byte of the pad, and the first one.
        for at in [0, tail.len() - size::HEADER_COPY_LEN - 320_048 - 24 - 20 * 16 - 4 - 1] {
            tail[at] = 1;
            assert_eq!(
                Record::open_tail(&header, &key(2), total, &tail),
                Err(AuthenticationFailed)
            );
            tail[at] = 0;
        }
        // Ten parts are declared for a content that has space for two.
        let short = size::sealed_len(MIN).unwrap();
        assert_eq!(Record::open_tail(&header, &key(2), short, &tail), Err(AuthenticationFailed));
    }
}

/// `record.rs` tests records that do not follow the rules; here a valid record does not match the
/// body.
#[test]
fn a_record_of_other_lengths_than_the_parts_is_refused() {
    let made = Multipart::new(&[(1, MIN), (2, MIN + 100)], |_| false);
    let mut entries = made.record.entries().to_vec();
    (entries[0].plaintext_len, entries[1].plaintext_len) = (MIN + 100, MIN);
    let record = Record::multipart(entries, None, false).unwrap();
    assert_eq!(record.body_len(), made.record.body_len());
    let mut tail = BytesMut::new();
    record.seal_tail(&made.header, &made.key, &mut Seeded::new(5), &mut tail).unwrap();
    let object = [made.parts.concat(), tail.to_vec()].concat();
    let opened = open_record(&made.header, &made.key, &object).unwrap();
    let range = 0..opened.plaintext_len();
    let (released, read) = open_range(&made.header, &made.key, &opened, range, &object);
    assert_eq!(read, Err(AuthenticationFailed));
    assert!(made.content.starts_with(&released));
}

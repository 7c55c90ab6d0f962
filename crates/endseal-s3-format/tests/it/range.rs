//! Ranges of objects, compared with slices of the content.

use core::ops::Range;

use endseal_s3_format::{AuthenticationFailed, Form, RangePlan, Record, size};

use crate::fixture::{Multipart, Reader, Seeded, Whole, key, read_plan};

const MIN: u64 = size::MIN_PART;
const CHUNK: u64 = 16_384;

/// Returns all ranges between positions at which something starts or ends, and some hundred random
/// ones.
fn ranges(content: u64, edges: &[u64], seed: u64) -> Vec<Range<u64>> {
    let mut places: Vec<u64> = edges
        .iter()
        .flat_map(|edge| [edge.saturating_sub(1), *edge, edge + 1])
        .chain([0, 1, content.saturating_sub(1), content])
        .filter(|at| *at <= content)
        .collect();
    places.sort_unstable();
    places.dedup();
    let mut out = Vec::new();
    for (i, start) in places.iter().enumerate() {
        out.extend(places[i..].iter().map(|end| *start..*end));
    }
    let mut random = Seeded::new(seed);
    for _ in 0..200 {
        let (a, b) = (random.below(content + 1), random.below(content + 1));
        out.push(a.min(b)..a.max(b));
        let short = a..content.min(a + random.below(40_000));
        out.push(short);
    }
    out
}

fn slice<'a>(content: &'a [u8], range: &Range<u64>) -> &'a [u8] {
    &content[range.start as usize..range.end as usize]
}

#[test]
fn ranges_of_whole_objects_are_slices() {
    for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 77] {
        let whole = Whole::new(len);
        for range in ranges(len, &[CHUNK, 2 * CHUNK, 3 * CHUNK], len) {
            let plan = RangePlan::whole(len, range.clone()).unwrap();
            let sealed = plan.sealed();
            assert_eq!((plan.salt(), plan.len()), (None, range.end - range.start));
            assert!(sealed.end - sealed.start <= (plan.len() / CHUNK + 2) * 16_400);
            assert_eq!(sealed.is_empty(), range.is_empty());
            for piece in [1_000, 1 << 20] {
                let plan = plan.clone();
                let (read, opened) =
                    read_plan(&whole.header, &whole.key, plan, &whole.object, piece);
                assert_eq!(opened, Ok(()), "{range:?} of {len}");
                assert!(read == slice(&whole.content, &range), "{range:?} of {len}");
            }
        }
    }
}

#[test]
fn ranges_of_multipart_objects_are_slices() {
    // The first part ends with a chunk that is not full, the second one with an empty chunk.
    let lengths = [(2, MIN + 100), (3, MIN), (7, MIN + 16_383), (8, 0)];
    let mut edges = vec![CHUNK, MIN - 1];
    let mut at = 0;
    for (_, len) in lengths {
        edges.extend([at + CHUNK, at + len - len % CHUNK]);
        at += len;
        edges.push(at);
    }
    for bound in [3, 1, 0] {
        // All, some and none of the salts are bound.
        let made = Multipart::new(&lengths, |number| match bound {
            3 => true,
            1 => number == 3,
            _ => false,
        });
        let object = made.object();
        let mut fetched = 0;
        for (i, range) in ranges(at, &edges, 5).into_iter().enumerate() {
            // Long ranges are slow and similar, so only some are tested.
            if range.end - range.start > 300_000 && i % 9 != 0 {
                continue;
            }
            let plan = RangePlan::multipart(&made.record, range.clone()).unwrap();
            let asked = plan.sealed().end - plan.sealed().start;
            let len = range.end - range.start;
            assert_eq!(plan.len(), len);
            assert!(asked <= (len / CHUNK + 2) * 16_400 + 4 * 80, "{range:?}");
            fetched += usize::from(plan.salt().is_some());
            let piece = if len < 50_000 { 777 } else { 100_000 };
            let (read, opened) = read_plan(&made.header, &made.key, plan, &object, piece);
            assert_eq!(opened, Ok(()), "{range:?}");
            assert!(read == slice(&made.content, &range), "{range:?}");
        }
        assert_eq!(fetched == 0, bound == 3, "only salts that are not bound are fetched");
    }
}

#[test]
fn ranges_outside_the_content_have_no_plan() {
    #[allow(clippy::reversed_empty_ranges, reason = "a range that a client may ask for")]
    let outside = [0..101, 100..101, 101..101, 50..40, 0..u64::MAX, u64::MAX..u64::MAX];
    let record = Multipart::new(&[(1, 100)], |_| true).record;
    for range in outside {
        assert_eq!(RangePlan::whole(100, range.clone()), None, "{range:?}");
        assert_eq!(RangePlan::multipart(&record, range.clone()), None, "{range:?}");
    }
    assert_eq!(RangePlan::whole(size::MAX_CONTENT + 1, 0..1), None);
    let whole = Record::whole(100, None).unwrap();
    assert_eq!(whole.form(), Form::Whole);
    assert_eq!(RangePlan::multipart(&whole, 0..1), None);
}

#[test]
fn a_range_of_five_tebibytes_is_arithmetic() {
    let end = size::MAX_CONTENT;
    let plan = RangePlan::whole(end, end - 1..end).unwrap();
    assert_eq!(plan.sealed(), (end / CHUNK - 1) * 16_400..end / CHUNK * 16_400);
    let plan = RangePlan::whole(end, 0..end).unwrap();
    assert_eq!(plan.sealed(), 0..end / CHUNK * 16_400);
}

#[test]
fn a_part_is_read_by_its_number() {
    let made = Multipart::new(&[(2, MIN), (5, MIN + 3), (6, 10)], |_| true);
    let number = |n| endseal_s3_format::PartNumber::new(n).unwrap();
    assert_eq!(made.record.part_range(number(2)), Some(0..MIN));
    assert_eq!(made.record.part_range(number(5)), Some(MIN..2 * MIN + 3));
    assert_eq!(made.record.part_range(number(6)), Some(2 * MIN + 3..2 * MIN + 13));
    for missing in [1, 3, 4, 7, 10_000] {
        assert_eq!(made.record.part_range(number(missing)), None);
    }
    assert_eq!(Record::whole(10, None).unwrap().part_range(number(1)), None);
}

#[test]
fn a_spoiled_chunk_spoils_the_ranges_that_touch_it() {
    let whole = Whole::new(4 * CHUNK + 10);
    for spoiled in 0..5_u64 {
        let mut object = whole.object.clone();
        object[spoiled as usize * 16_400 + 3] ^= 4;
        for range in ranges(4 * CHUNK + 10, &[CHUNK, 2 * CHUNK, 3 * CHUNK, 4 * CHUNK], 6) {
            let touches = !range.is_empty()
                && range.start / CHUNK <= spoiled
                && spoiled <= (range.end - 1) / CHUNK;
            let plan = RangePlan::whole(4 * CHUNK + 10, range.clone()).unwrap();
            let (read, opened) = read_plan(&whole.header, &whole.key, plan, &object, 5_000);
            assert_eq!(
                opened,
                if touches { Err(AuthenticationFailed) } else { Ok(()) },
                "{range:?}"
            );
            assert!(slice(&whole.content, &range).starts_with(&read));
        }
    }
}

#[test]
fn other_lengths_than_asked_for_are_refused() {
    let whole = Whole::new(3 * CHUNK);
    let plan = RangePlan::whole(3 * CHUNK, 100..2 * CHUNK).unwrap();
    let sealed = plan.sealed();
    let asked = &whole.object[sealed.start as usize..sealed.end as usize];
    let open = |bytes: &[u8]| {
        let mut opener = plan.clone().opener(&whole.header, &whole.key, None).unwrap();
        let mut out = Vec::new();
        let pushed = Reader::default().push(bytes, &mut |buffer| opener.open(buffer), &mut out);
        (out, pushed.and_then(|()| opener.finish()))
    };
    assert_eq!(open(asked).1, Ok(()));
    assert_eq!(open(&[asked, &[0]].concat()).1, Err(AuthenticationFailed), "a byte more");
    for len in [0, 1, 16_399, 16_400, 16_401, asked.len() - 1] {
        let (read, opened) = open(&asked[..len]);
        assert_eq!(opened, Err(AuthenticationFailed), "{len} bytes");
        assert!(whole.content[100..].starts_with(&read));
    }
    // The bytes of another range of the same length.
    assert_eq!(open(&whole.object[16_400..16_400 + asked.len()]).1, Err(AuthenticationFailed));
    // An empty range needs no bytes.
    let empty = RangePlan::whole(3 * CHUNK, 5..5).unwrap();
    let mut opener = empty.opener(&whole.header, &whole.key, None).unwrap();
    assert_eq!(opener.open(&mut [0]), Err(AuthenticationFailed));
}

#[test]
fn salts_on_the_way_are_compared_with_the_record() {
    let made = Multipart::new(&[(1, MIN), (2, 5_000)], |number| number == 2);
    let mut object = made.object();
    let range = MIN - 10..MIN + 10;
    let plan = || RangePlan::multipart(&made.record, range.clone()).unwrap();
    let read = |object: &[u8]| read_plan(&made.header, &made.key, plan(), object, 100_000);
    assert_eq!(plan().salt(), Some(0..24), "the first part's is not bound");
    assert_eq!(read(&object), (slice(&made.content, &range).to_vec(), Ok(())));
    let second = made.parts[0].len();
    for at in (second..second + 24).chain(0..24) {
        object[at] ^= 1;
        let (released, opened) = read(&object);
        assert_eq!(opened, Err(AuthenticationFailed), "byte {at} of a salt");
        assert!(slice(&made.content, &range).starts_with(&released));
        object[at] ^= 1;
    }
    let missing = plan().opener(&made.header, &made.key, None).err();
    assert_eq!(missing, Some(AuthenticationFailed));
}

#[test]
fn plans_of_another_object_open_nothing() {
    let (whole, made) = (Whole::new(100), Multipart::new(&[(1, 100)], |_| true));
    let of_whole = |len| RangePlan::whole(len, 0..50).unwrap();
    let of_parts = RangePlan::multipart(&made.record, 0..50).unwrap();
    let refused = |plan: RangePlan, header, key| plan.opener(header, key, None).err();
    assert_eq!(refused(of_whole(100), &whole.header, &whole.key), None);
    assert_eq!(refused(of_parts.clone(), &made.header, &made.key), None);
    for refusal in [
        refused(of_whole(101), &whole.header, &whole.key),
        refused(of_whole(100), &whole.header, &key(9)),
        refused(of_whole(100), &made.header, &made.key),
        refused(of_parts.clone(), &whole.header, &whole.key),
        refused(of_parts, &made.header, &key(9)),
    ] {
        assert_eq!(refusal, Some(AuthenticationFailed));
    }
}

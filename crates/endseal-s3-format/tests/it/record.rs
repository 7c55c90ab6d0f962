//! Records: their rules, and tails that are sealed with the right key but do not follow the rules.

use endseal_s3_format::{AuthenticationFailed, Entry, Form, PartNumber, Record, RecordError, size};
use endseal_s3_format::{ChecksumAlgorithm, ContentChecksum};

use crate::fixture::{Multipart, Whole, open_record, seal_tail};

const MIN: u64 = size::MIN_PART;

fn entry(number: u16, plaintext_len: u64) -> Entry {
    Entry { number: PartNumber::new(number).unwrap(), plaintext_len, salt: Some([7; 24]) }
}

#[test]
fn parts_that_make_no_object_are_refused() {
    let make = |parts: &[(u16, u64)]| {
        let entries = parts.iter().map(|(number, len)| entry(*number, *len)).collect();
        Record::multipart(entries, None, false).err()
    };
    for (parts, error) in [
        (&[][..], Some(RecordError::Count)),
        (&[(1, 0)], None),
        (&[(1, MIN), (2, 0)], None),
        (&[(1, MIN), (1, MIN)], Some(RecordError::Order)),
        (&[(2, MIN), (1, MIN)], Some(RecordError::Order)),
        (&[(1, MIN - 1)], None),
        (&[(1, MIN - 1), (2, 1)], Some(RecordError::PartTooSmall)),
        (&[(1, MIN), (2, 0), (3, MIN)], Some(RecordError::PartTooSmall)),
        (&[(1, size::MAX_CONTENT)], None),
        (&[(1, size::MAX_CONTENT + 1)], Some(RecordError::ContentTooLong)),
        (&[(1, size::MAX_CONTENT), (2, 1)], Some(RecordError::ContentTooLong)),
        (&[(1, u64::MAX), (2, u64::MAX)], Some(RecordError::ContentTooLong)),
    ] {
        assert_eq!(make(parts), error, "{parts:?}");
    }
    let many = (1..=10_000).chain([10_000]).map(|number| entry(number, MIN)).collect();
    assert_eq!(Record::multipart(many, None, false), Err(RecordError::Count));
    let composite = Record::multipart(vec![entry(1, 5)], None, true);
    assert_eq!(composite, Err(RecordError::Composite));
    assert_eq!(Record::whole(size::MAX_CONTENT + 1, None), None);
}

#[test]
fn a_salt_of_zeros_is_none() {
    let zero = Entry { salt: Some([0; 24]), ..entry(1, 5) };
    let record = Record::multipart(vec![zero], None, false).unwrap();
    assert_eq!(record.entries()[0].salt, None);
}

#[test]
fn composite_checksums_are_kept() {
    let checksum = ContentChecksum::new(ChecksumAlgorithm::Crc32c, &[1, 2, 3, 4]);
    for composite in [false, true] {
        let made = Multipart::new(&[(1, 300)], |_| true);
        let entries = made.record.entries().to_vec();
        let record = Record::multipart(entries, checksum, composite).unwrap();
        let mut tail = bytes::BytesMut::new();
        record
            .seal_tail(&made.header, &made.key, &mut crate::fixture::Seeded::new(4), &mut tail)
            .unwrap();
        let object = [made.parts.concat(), tail.to_vec()].concat();
        let read = open_record(&made.header, &made.key, &object).unwrap();
        assert_eq!((read.checksum(), read.is_composite()), (checksum.as_ref(), composite));
    }
}

/// Returns the record of one part of 300 bytes, as the specification defines it.
fn good_record(salt: &[u8]) -> Vec<u8> {
    let entry = [&[0, 1, 0, 0, 0, 0, 1, 44][..], salt].concat();
    [&[1, 2, 0][..], &[0; 32], &[0], &[0, 0, 0, 1], &300_u64.to_be_bytes(), &entry].concat()
}

#[test]
fn records_that_break_a_rule_are_refused() {
    let made = Multipart::new(&[(1, 300)], |_| true);
    let body = made.parts.concat();
    let good = good_record(&made.parts[0][..24]);
    let open = |record: &[u8]| {
        let tail =
            seal_tail(&made.header, &made.key, Form::Multipart, 300, body.len() as u64, record);
        made.open(&[&body[..], &tail].concat())
    };
    assert_eq!(open(&good).as_ref(), Ok(&made.record));
    let with = |at: usize, field: &[u8]| {
        let mut record = good.clone();
        record[at..at + field.len()].copy_from_slice(field);
        record
    };
    for (why, record) in [
        ("version 0", with(0, &[0])),
        ("version 2", with(0, &[2])),
        ("form 1", with(1, &[1])),
        ("form 3", with(1, &[3])),
        ("checksum kind 6", with(2, &[6])),
        ("a checksum of kind 0", with(3, &[1])),
        ("a byte behind a CRC32", with(2, &[1, 9, 9, 9, 9, 1])),
        ("a byte behind a SHA-1", [&good[..2], &[4], &[9; 21], &good[24..]].concat()),
        ("flag 2", with(35, &[2])),
        ("flag 1 without a checksum", with(35, &[1])),
        ("no parts but an entry", with(36, &[0; 4])),
        ("two parts but one entry", with(36, &[0, 0, 0, 2])),
        ("2^32 - 1 parts", with(36, &[0xff; 4])),
        ("another P", with(43, &[1])),
        ("P + 1", with(47, &[45])),
        ("part 0", with(48, &[0, 0])),
        ("part 10,001", with(48, &[0x27, 0x11])),
        ("a length of 299", with(55, &[43])),
        ("a length of 2^48 - 1", with(50, &[0xff; 6])),
        ("another salt", with(56, &[made.parts[0][0] ^ 1])),
        ("cut in an entry", good[..79].to_vec()),
        ("a byte more", [&good[..], &[0]].concat()),
        ("no entry", good[..48].to_vec()),
        ("no entry and no part", [&good[..36], &[0; 4], &good[40..48]].concat()),
        ("cut", good[..47].to_vec()),
        ("nothing", Vec::new()),
    ] {
        assert_eq!(open(&record), Err(AuthenticationFailed), "{why}");
    }
}

#[test]
fn entries_that_break_a_rule_are_refused() {
    let made = Multipart::new(&[(1, MIN), (2, MIN)], |_| false);
    let body = made.parts.concat();
    let open = |parts: &[(u16, u64)]| {
        let mut record = [&[1, 2][..], &[0; 34]].concat();
        record.extend((parts.len() as u32).to_be_bytes());
        record.extend((2 * MIN).to_be_bytes());
        for (number, len) in parts {
            record.extend(number.to_be_bytes());
            record.extend(&len.to_be_bytes()[2..]);
            record.extend([0; 24]);
        }
        let tail = seal_tail(
            &made.header,
            &made.key,
            Form::Multipart,
            2 * MIN,
            body.len() as u64,
            &record,
        );
        made.open(&[&body[..], &tail].concat())
    };
    assert!(open(&[(1, MIN), (2, MIN)]).is_ok());
    for parts in [
        &[(2, MIN), (1, MIN)][..],
        &[(1, MIN), (1, MIN)],
        &[(1, MIN - 1), (2, MIN + 1)],
        &[(1, MIN)],
        &[(1, MIN), (2, MIN), (3, 1)],
        // Valid records for as much content, but for another body: the pad would be at another
        // position.
        &[(1, 2 * MIN)],
        &[(1, MIN), (2, MIN), (3, 0)],
        // One part more than there is space for.
        &[(1, MIN), (2, MIN), (3, 0), (4, 0)],
    ] {
        assert_eq!(open(parts), Err(AuthenticationFailed), "{parts:?}");
    }
}

#[test]
fn a_record_of_the_other_form_is_refused() {
    let whole = Whole::new(300);
    let body = &whole.object[..316];
    let record = |form: u8| [&[1, form][..], &[0; 34], &[0; 4], &300_u64.to_be_bytes()].concat();
    let open = |context: Form, record: &[u8]| {
        whole.open(
            &[body, &seal_tail(&whole.header, &whole.key, context, 300, 316, record)].concat(),
        )
    };
    assert!(open(Form::Whole, &record(1)).is_ok());
    assert_eq!(open(Form::Whole, &record(2)), Err(AuthenticationFailed));
    assert_eq!(open(Form::Multipart, &record(1)), Err(AuthenticationFailed));
    assert_eq!(open(Form::Multipart, &record(2)), Err(AuthenticationFailed));
    let mut composite = record(1);
    composite[2..7].copy_from_slice(&[1, 9, 9, 9, 9]);
    assert!(open(Form::Whole, &composite).is_ok());
    composite[35] = 1;
    assert_eq!(
        open(Form::Whole, &composite),
        Err(AuthenticationFailed),
        "a whole object has no parts"
    );
    let mut longer = record(1);
    longer[47] ^= 1;
    assert_eq!(open(Form::Whole, &longer), Err(AuthenticationFailed), "another P");
    // A record with an entry that 80 bytes of pad would leave space for.
    let entry = good_record(&[7; 24]);
    assert_eq!(open(Form::Whole, &entry), Err(AuthenticationFailed));
}

#[test]
fn a_length_that_no_record_has_is_refused() {
    let (whole, made) = (Whole::new(300), Multipart::new(&[(1, 300)], |_| true));
    let multipart = made.object();
    let lengths = (0..400).chain([0xffff, 0x7fff_ffff, 0xffff_fff0, u32::MAX]);
    for length in lengths {
        let spoil = |object: &[u8], right: u32| {
            let mut object = object.to_vec();
            let at = object.len() - size::HEADER_COPY_LEN - 4;
            assert_eq!(object[at..at + 4], right.to_be_bytes());
            object[at..at + 4].copy_from_slice(&length.to_be_bytes());
            (length != right).then_some(object)
        };
        if let Some(object) = spoil(&whole.object, 88) {
            assert_eq!(whole.open(&object), Err(AuthenticationFailed), "{length}");
            let opened = open_record(&whole.header, &whole.key, &object);
            assert_eq!(opened, Err(AuthenticationFailed), "{length}");
        }
        if let Some(object) = spoil(&multipart, 120) {
            assert_eq!(made.open(&object), Err(AuthenticationFailed), "{length}");
        }
    }
}

/// Opening the record alone gives the same result as reading everything, for readers that need only
/// the checksum.
#[test]
fn the_record_of_a_whole_object_opens_alone() {
    let checksum = ContentChecksum::new(ChecksumAlgorithm::Sha256, &[3; 32]);
    for len in [0, 300, 40_000, MIN] {
        let whole = Whole::with(1, len, checksum);
        let record = open_record(&whole.header, &whole.key, &whole.object).unwrap();
        assert_eq!((record.checksum(), record.plaintext_len()), (checksum.as_ref(), len));
        let mut spoiled = whole.object.clone();
        let tail = spoiled.len() - size::tail_len_max(len) as usize;
        for at in tail..spoiled.len() {
            spoiled[at] ^= 1;
            assert_eq!(
                open_record(&whole.header, &whole.key, &spoiled),
                Err(AuthenticationFailed),
                "{at}"
            );
            spoiled[at] ^= 1;
        }
        // With a length that belongs to another content.
        let end = &whole.object[tail..];
        let longer = size::sealed_len(len + 1).unwrap();
        for total in [longer, whole.object.len() as u64 + 1_000_000_000_000, u64::MAX, 0] {
            let opened = Record::open_tail(&whole.header, &whole.key, total, end);
            assert_eq!(opened, Err(AuthenticationFailed));
        }
    }
}

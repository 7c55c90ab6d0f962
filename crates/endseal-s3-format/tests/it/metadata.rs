//! Encrypted user metadata of objects.

use endseal_s3_format::AuthenticationFailed;
use endseal_s3_format::user_metadata::{self, MetadataError, UserMetadata};

use crate::fixture::{Broken, Seeded, Whole, key, seal_message};
use crate::header::{base64_decode, base64_encode};

fn metadata(entries: &[(&str, &[u8])]) -> UserMetadata {
    let mut metadata = UserMetadata::new();
    for (name, value) in entries {
        metadata.insert(name, value).unwrap();
    }
    metadata
}

#[test]
fn what_is_sealed_opens() {
    let whole = Whole::new(5);
    for entries in [
        &[][..],
        &[("a", &b""[..])],
        &[("Z-Last", b"v"), ("mtime", b"1.5"), ("caf", "\u{e9}\t".as_bytes()), ("x", b"\xff ")],
    ] {
        let metadata = metadata(entries);
        let text =
            user_metadata::seal(&whole.header, &whole.key, &metadata, &mut Seeded::new(3)).unwrap();
        let opened = user_metadata::open(&whole.header, &whole.key, &text).unwrap();
        assert_eq!(opened, metadata);
        assert!(opened.iter().map(|(name, _)| name).is_sorted());
        assert_eq!(opened.is_empty(), entries.is_empty());
    }
    let metadata = metadata(&[("Z-Last", b"v")]);
    assert_eq!(metadata.iter().collect::<Vec<_>>(), [("z-last", &b"v"[..])]);
    assert_eq!(metadata.len(), 7);
}

#[test]
fn every_flipped_byte_and_another_key_are_refused() {
    let whole = Whole::new(5);
    let metadata = metadata(&[("name", b"value")]);
    let text =
        user_metadata::seal(&whole.header, &whole.key, &metadata, &mut Seeded::new(3)).unwrap();
    let good = base64_decode(&text);
    let open = |text: &str| user_metadata::open(&whole.header, &whole.key, text);
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        assert_eq!(open(&base64_encode(&bytes)), Err(AuthenticationFailed), "byte {at}");
        assert_eq!(open(&base64_encode(&good[..at])), Err(AuthenticationFailed), "cut to {at}");
    }
    for text in [format!("{text}="), format!("{text}AAAA"), "A".repeat(1_000_000)] {
        assert_eq!(open(&text), Err(AuthenticationFailed));
    }
    assert_eq!(user_metadata::open(&whole.header, &key(9), &text), Err(AuthenticationFailed));
    // Another object of the same length, under its own key.
    let other = Whole::with(4, 5, None);
    assert_eq!(user_metadata::open(&other.header, &other.key, &text), Err(AuthenticationFailed));
}

#[test]
fn entries_that_are_not_canonical_are_refused() {
    let whole = Whole::new(5);
    let open = |plain: &[u8]| {
        let tag = &base64_decode(&whole.header.encode())[68..100];
        let context = [b"endseal/s3-object@v1 metadata", tag].concat();
        let sealed = seal_message(&whole.key, &context, plain);
        user_metadata::open(&whole.header, &whole.key, &base64_encode(&sealed))
    };
    assert_eq!(open(b"\0\x01a\0\x01b"), Ok(metadata(&[("a", b"b")])));
    for (why, plain) in [
        ("upper case", &b"\0\x01A\0\x01b"[..]),
        ("no name", b"\0\0\0\x01b"),
        ("a name that no header has", b"\0\x01:\0\x01b"),
        ("a name that is not UTF-8", b"\0\x01\xff\0\x01b"),
        ("a name of the format", b"\0\x07endseal\0\x01b"),
        ("a line break in a value", b"\0\x01a\0\x01\n"),
        ("a name twice", b"\0\x01a\0\x01b\0\x01a\0\x01b"),
        ("names that fall", b"\0\x01b\0\x01b\0\x01a\0\x01b"),
        ("a name without a value", b"\0\x01a"),
        ("a value cut", b"\0\x01a\0\x02b"),
        ("half a length", b"\0\x01a\0\x01b\0"),
    ] {
        assert_eq!(open(plain), Err(AuthenticationFailed), "{why}");
    }
}

#[test]
fn what_no_header_can_carry_is_refused() {
    let mut metadata = metadata(&[("a", b"1")]);
    for (name, value, error) in [
        ("", &b"v"[..], MetadataError::Name),
        ("a b", b"v", MetadataError::Name),
        ("a:b", b"v", MetadataError::Name),
        ("\u{e9}", b"v", MetadataError::Name),
        ("endseal", b"v", MetadataError::Name),
        ("Endseal-M", b"v", MetadataError::Name),
        ("b", b"\r\n", MetadataError::Value),
        ("b", b"\0", MetadataError::Value),
        ("b", b"\x7f", MetadataError::Value),
        ("a", b"2", MetadataError::Twice),
        ("A", b"2", MetadataError::Twice),
        ("b", &[b'v'; 2_046], MetadataError::TooLong),
    ] {
        assert_eq!(metadata.insert(name, value), Err(error), "{name}");
    }
    assert_eq!(metadata.iter().count(), 1);
    assert_eq!(metadata.insert("b", &[b'v'; 2_045]), Ok(()));
}

#[test]
fn what_s3_has_no_room_for_is_refused_and_not_dropped() {
    let whole = Whole::new(5);
    let room = user_metadata::room(&whole.header);
    assert_eq!(room, 2_048 - 7 - whole.header.encode().len());
    let (mut fits, mut refused) = (0, 0);
    for len in 1_000..1_500 {
        let metadata = metadata(&[("a", &vec![b'v'; len])]);
        match user_metadata::seal(&whole.header, &whole.key, &metadata, &mut Seeded::new(3)) {
            Ok(text) => {
                assert!("endseal-m".len() + text.len() <= room);
                assert_eq!(refused, 0, "what is longer does not fit either");
                fits += 1;
            }
            Err(error) => {
                assert_eq!(error, MetadataError::TooLong);
                refused += 1;
            }
        }
    }
    assert!(fits > 0 && refused > 0);
    let empty = UserMetadata::new();
    let broken = user_metadata::seal(&whole.header, &whole.key, &empty, &mut Broken);
    assert_eq!(broken, Err(MetadataError::Random));
}

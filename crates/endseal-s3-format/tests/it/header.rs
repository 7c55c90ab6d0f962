//! Headers of objects: their encoding, limits and authentication.

use endseal_s3_format::{
    AuthenticationFailed, Binding, Bound, Form, Header, HeaderError, Place, WholeOpener, size,
};

use crate::fixture::{Broken, Seeded, at, here, key};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Encodes base64url. It is implemented here, so that headers can be damaged.
pub(crate) fn base64_encode(bytes: &[u8]) -> String {
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for i in 0..=group.len() {
            out.push(ALPHABET[(bits >> (18 - 6 * i) & 63) as usize].into());
        }
    }
    out
}

pub(crate) fn base64_decode(text: &str) -> Vec<u8> {
    let digit = |c| ALPHABET.iter().position(|a| *a == c).unwrap() as u32;
    let mut out = Vec::new();
    for group in text.as_bytes().chunks(4) {
        let bits = group.iter().fold(0, |bits, c| bits << 6 | digit(*c)) << (6 * (4 - group.len()));
        out.extend(&bits.to_be_bytes()[1..group.len()]);
    }
    out
}

fn whole(len: u64) -> Header {
    let wrapped = [0x77; 60];
    Header::whole(&key(1), len, &at(Binding::Bucket), ("key-1", &wrapped), &mut Seeded::new(1))
        .unwrap()
        .0
}

fn multipart() -> Header {
    Header::multipart(&key(1), &at(Binding::Key), ("key-1", &[0x77; 60]), &mut Seeded::new(1))
        .unwrap()
}

fn parse(bytes: &[u8]) -> Result<Header, AuthenticationFailed> {
    Header::parse(&base64_encode(bytes))
}

#[test]
fn headers_are_those_of_the_specification() {
    let bytes = base64_decode(&whole(40_000).encode());
    assert_eq!(bytes[..4], [1, 1, 1, 0]);
    assert_eq!(bytes[4..12], 40_000_u64.to_be_bytes());
    assert_eq!(bytes[100..106], *b"\x05key-1");
    assert_eq!(bytes[106..], [&[0, 60][..], &[0x77; 60]].concat());
    let bytes = base64_decode(&multipart().encode());
    assert_eq!(bytes[..12], [1, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn what_is_written_is_read() {
    for header in [whole(0), whole(size::MAX_CONTENT), multipart()] {
        let read = Header::parse(&header.encode()).unwrap();
        assert_eq!(read, header);
        assert_eq!(read.verify(&key(1)), Ok(()));
        assert_eq!(read.verify(&key(2)), Err(AuthenticationFailed));
        assert_eq!((read.key_id(), read.wrapped_key()), ("key-1", &[0x77; 60][..]));
    }
    assert_eq!(whole(3).plaintext_len(), Some(3));
    assert_eq!(multipart().plaintext_len(), None);
    assert_eq!((whole(3).form(), multipart().form()), (Form::Whole, Form::Multipart));
}

#[test]
fn other_headers_are_refused() {
    let good = base64_decode(&whole(40_000).encode());
    assert!(parse(&good).is_ok());
    let with = |at: usize, field: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + field.len()].copy_from_slice(field);
        bytes
    };
    let key_id = |id: &[u8]| [&good[..100], &[id.len() as u8], id, &good[106..]].concat();
    let wrapped = |len: u16| [&good[..106], &len.to_be_bytes(), &vec![1; len.into()]].concat();
    let longest = size::MAX_CONTENT;
    let multipart = base64_decode(&multipart().encode());
    let refused = [
        ("version 0", with(0, &[0])),
        ("version 2", with(0, &[2])),
        ("form 0", with(1, &[0])),
        ("form 3", with(1, &[3])),
        ("binding 3", with(2, &[3])),
        ("flag 2", with(3, &[2])),
        ("all flags", with(3, &[0xff])),
        ("more than 5 TiB", with(4, &(longest + 1).to_be_bytes())),
        ("a length near 2^64", with(4, &[0xff; 8])),
        ("a form 2 with a length", [&multipart[..11], &[1], &multipart[12..]].concat()),
        ("no key id", key_id(b"")),
        ("a key id of 65", key_id(&[b'a'; 65])),
        ("upper case", key_id(b"Key")),
        ("a slash", key_id(b"a/b")),
        ("not ASCII", key_id("\u{e9}".as_bytes())),
        ("not UTF-8", key_id(b"\xff")),
        ("a key id beyond the end", with(100, &[250])),
        ("no wrapped key", wrapped(0)),
        ("a wrapped key of 513", wrapped(513)),
        ("a wrapped key beyond the end", with(106, &[0, 61])),
        ("a byte behind it", [&good[..], &[0]].concat()),
        ("nothing", Vec::new()),
    ];
    for (why, bytes) in refused {
        assert_eq!(parse(&bytes), Err(AuthenticationFailed), "{why}");
    }
    for len in 0..good.len() {
        assert_eq!(parse(&good[..len]), Err(AuthenticationFailed), "cut to {len}");
    }
    assert!(parse(&key_id(&[b'a'; 64])).is_ok() && parse(&wrapped(512)).is_ok());
}

#[test]
fn other_text_is_refused() {
    let text = whole(40_000).encode();
    let text = text.as_str();
    for other in [
        format!("{text}="),
        format!("{text}A"),
        format!(" {text}"),
        format!("{text}\n"),
        text.replacen('A', "+", 1),
        format!("{}\u{e9}", &text[..text.len() - 2]),
        "A".repeat(100_000),
    ] {
        assert_eq!(Header::parse(&other), Err(AuthenticationFailed), "{other:.40}");
    }
}

/// Changes each byte of salt, commitment and length. The provider binds or refuses the other bytes.
#[test]
fn every_flipped_byte_of_what_the_key_commits_to_is_refused() {
    for (header, committed) in [(whole(40_000), 4..68), (multipart(), 12..68)] {
        let good = base64_decode(&header.encode());
        for at in committed {
            for bit in 0..8 {
                let mut bytes = good.clone();
                bytes[at] ^= 1 << bit;
                let verified = parse(&bytes).and_then(|header| header.verify(&key(1)));
                assert_eq!(verified, Err(AuthenticationFailed), "byte {at}");
            }
        }
        // A header of a whole object presented as multipart, and the reverse.
        let mut bytes = good.clone();
        bytes[1] ^= 3;
        let verified = parse(&bytes).and_then(|header| header.verify(&key(1)));
        assert_eq!(verified, Err(AuthenticationFailed));
    }
}

#[test]
fn headers_beyond_the_limits_are_not_made() {
    let make = |len, key_id: &str, wrapped: &[u8]| {
        Header::whole(&key(1), len, &at(Binding::None), (key_id, wrapped), &mut Seeded::new(1))
            .err()
    };
    assert_eq!(make(size::MAX_CONTENT, &"a".repeat(64), &[1; 512]), None);
    assert_eq!(make(size::MAX_CONTENT + 1, "k", b"w"), Some(HeaderError::ContentTooLong));
    for key_id in ["", "K", "a b", "\u{e9}", &"a".repeat(65)] {
        assert_eq!(make(0, key_id, b"w"), Some(HeaderError::KeyId), "{key_id}");
    }
    assert_eq!(make(0, "k", b""), Some(HeaderError::WrappedKey));
    assert_eq!(make(0, "k", &[1; 513]), Some(HeaderError::WrappedKey));
    let made = Header::multipart(&key(1), &at(Binding::None), ("k", b"w"), &mut Broken);
    assert_eq!(made, Err(HeaderError::Random));
}

/// Section "Limits": the longest header, and the headers that fit into 550 bytes.
#[test]
fn headers_are_as_long_as_the_specification_says() {
    let make = |key_id: usize, wrapped: usize| {
        let (id, wrapped) = ("a".repeat(key_id), vec![1; wrapped]);
        Header::whole(&key(1), 5, &at(Binding::Key), (&id, &wrapped), &mut Seeded::new(1))
            .unwrap()
            .0
    };
    let longest = make(64, 512).encode();
    assert_eq!((base64_decode(&longest).len(), longest.len()), (679, 906));
    assert!(Header::parse(&longest).is_ok());
    // RSA of 2,048 bits wraps into 256 bytes; the header name `endseal` has 7.
    assert!(make(43, 256).encode().len() + 7 <= 550);
}

/// An object opens where its binding has the same names, and not where more is demanded.
#[test]
fn an_object_opens_at_its_place_alone() {
    let place = |bucket, key| Place::new(bucket, key).unwrap();
    let bound = |place, binding| Bound { place, binding, has_sealed_metadata: false };
    let bindings = [Binding::None, Binding::Bucket, Binding::Key];
    for has in bindings {
        let header = whole(5).bound_to(&key(1), &bound(place("bucket", "key"), has));
        assert_eq!(header.binding(), has);
        for demanded in bindings {
            for (bucket, at, weakest) in [
                ("bucket", "key", Binding::Key),
                ("bucket", "key2", Binding::Bucket),
                ("bucket2", "key", Binding::None),
                ("bucketk", "ey", Binding::None),
            ] {
                let opens = demanded <= has && has <= weakest;
                let verified = header.verify_place(&key(1), &place(bucket, at), demanded);
                assert_eq!(verified.is_ok(), opens, "{has:?} {demanded:?} {bucket}/{at}");
            }
        }
        let other_key = header.verify_place(&key(2), &place("bucket", "key"), Binding::None);
        assert_eq!(other_key, Err(AuthenticationFailed));
    }
    // A tag of a weaker binding is none of a stronger one.
    let bytes = base64_decode(&whole(5).bound_to(&key(1), &at(Binding::None)).encode());
    for binding in [1, 2] {
        let mut bytes = bytes.clone();
        bytes[2] = binding;
        let forged = parse(&bytes).unwrap().verify_place(&key(1), &here(), Binding::None);
        assert_eq!(forged, Err(AuthenticationFailed));
    }
}

#[test]
fn every_flipped_byte_of_the_place_tag_is_refused() {
    let good = base64_decode(&whole(40_000).encode());
    for at in 68..100 {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        let header = parse(&bytes).unwrap();
        assert_eq!(header.verify(&key(1)), Ok(()), "the place is checked by itself");
        let place = header.verify_place(&key(1), &here(), Binding::Bucket);
        assert_eq!(place, Err(AuthenticationFailed), "byte {at}");
    }
    // The flag that metadata are sealed is part of what it authenticates.
    let mut bytes = good.clone();
    bytes[3] = 1;
    let header = parse(&bytes).unwrap();
    assert!(header.has_sealed_metadata());
    assert!(header.verify_place(&key(1), &here(), Binding::Bucket).is_err());
    let bound = Bound { has_sealed_metadata: true, ..at(Binding::Key) };
    let header = whole(5).bound_to(&key(1), &bound);
    assert!(header.has_sealed_metadata() && parse(&base64_decode(&header.encode())).is_ok());
    assert_eq!(header.verify_place(&key(1), &here(), Binding::Key), Ok(()));
}

#[test]
fn a_header_is_wrapped_anew_and_opens_the_same_bytes() {
    let object = crate::fixture::Whole::new(30_000);
    let copy = object.header.rewrapped("other", b"wrapped anew").unwrap();
    assert_eq!((copy.key_id(), copy.wrapped_key()), ("other", &b"wrapped anew"[..]));
    assert!(copy.is_of_same_object(&object.header));
    assert!(!copy.is_of_same_object(&crate::fixture::Whole::new(30_001).header));
    let read = Header::parse(&copy.encode()).unwrap();
    assert!(WholeOpener::new(&read, &object.key).is_ok());
    let (content, opened) = crate::fixture::open_whole(&read, &object.key, &object.object, 1_000);
    assert!(opened.is_ok() && content == object.content);
    assert_eq!(copy.rewrapped("", b"w"), Err(HeaderError::KeyId));
    assert_eq!(copy.rewrapped("k", b""), Err(HeaderError::WrappedKey));
}

#[test]
fn the_end_of_an_object_is_a_copy_of_its_header() {
    for header in [whole(0), multipart()] {
        let copy = header.to_copy();
        assert_eq!(copy.len(), size::HEADER_COPY_LEN);
        assert!(Header::has_copy(&copy) && copy.ends_with(b"endseal\x01"));
        let end = [&[7; 100][..], &copy].concat();
        assert_eq!(Header::parse_copy(&end), Ok(header));
        for len in 0..copy.len() {
            assert!(!Header::has_copy(&copy[..len]));
            assert_eq!(Header::parse_copy(&copy[..len]), Err(AuthenticationFailed));
        }
        assert!(!Header::has_copy(&copy[1..]));
    }
    let object = crate::fixture::Whole::new(30_000);
    assert_eq!(Header::parse_copy(&object.object), Ok(object.header));
    let object = crate::fixture::Multipart::new(&[(1, 5 << 20), (2, 9)], |_| true);
    assert_eq!(Header::parse_copy(&object.object()), Ok(object.header));
}

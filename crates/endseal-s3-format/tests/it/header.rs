//! Headers of objects: their encoding, limits and authentication.

use endseal_s3_format::{
    AuthenticationFailed, Binding, Form, Header, HeaderError, Place, WholeOpener, size,
};

use crate::fixture::{Broken, Seeded, key};

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
    Header::whole(&key(1), len, Binding::Bucket, "key-1", &wrapped, &mut Seeded::new(1)).unwrap().0
}

fn multipart() -> Header {
    Header::multipart(&key(1), Binding::Key, "key-1", &[0x77; 60], &mut Seeded::new(1)).unwrap()
}

fn parse(bytes: &[u8]) -> Result<Header, AuthenticationFailed> {
    Header::parse(&base64_encode(bytes))
}

#[test]
fn headers_are_those_of_the_specification() {
    let bytes = base64_decode(&whole(40_000).encode());
    assert_eq!(bytes[..3], [1, 1, 1]);
    assert_eq!(bytes[3..11], 40_000_u64.to_be_bytes());
    assert_eq!(bytes[67..73], *b"\x05key-1");
    assert_eq!(bytes[73..], [&[0, 60][..], &[0x77; 60]].concat());
    let bytes = base64_decode(&multipart().encode());
    assert_eq!(bytes[..11], [1, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
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
    let key_id = |id: &[u8]| [&good[..67], &[id.len() as u8], id, &good[73..]].concat();
    let wrapped = |len: u16| [&good[..73], &len.to_be_bytes(), &vec![1; len.into()]].concat();
    let longest = size::MAX_CONTENT;
    let multipart = base64_decode(&multipart().encode());
    let refused = [
        ("version 0", with(0, &[0])),
        ("version 2", with(0, &[2])),
        ("form 0", with(1, &[0])),
        ("form 3", with(1, &[3])),
        ("binding 3", with(2, &[3])),
        ("more than 5 TiB", with(3, &(longest + 1).to_be_bytes())),
        ("a length near 2^64", with(3, &[0xff; 8])),
        ("a form 2 with a length", [&multipart[..10], &[1], &multipart[11..]].concat()),
        ("no key id", key_id(b"")),
        ("a key id of 65", key_id(&[b'a'; 65])),
        ("upper case", key_id(b"Key")),
        ("a slash", key_id(b"a/b")),
        ("not ASCII", key_id("\u{e9}".as_bytes())),
        ("not UTF-8", key_id(b"\xff")),
        ("a key id beyond the end", with(67, &[250])),
        ("no wrapped key", wrapped(0)),
        ("a wrapped key of 1,025", wrapped(1_025)),
        ("a wrapped key beyond the end", with(73, &[0, 61])),
        ("a byte behind it", [&good[..], &[0]].concat()),
        ("nothing", Vec::new()),
    ];
    for (why, bytes) in refused {
        assert_eq!(parse(&bytes), Err(AuthenticationFailed), "{why}");
    }
    for len in 0..good.len() {
        assert_eq!(parse(&good[..len]), Err(AuthenticationFailed), "cut to {len}");
    }
    assert!(parse(&key_id(&[b'a'; 64])).is_ok() && parse(&wrapped(1_024)).is_ok());
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
    for (header, committed) in [(whole(40_000), 3..67), (multipart(), 11..67)] {
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
        Header::whole(&key(1), len, Binding::None, key_id, wrapped, &mut Seeded::new(1)).err()
    };
    assert_eq!(make(size::MAX_CONTENT, &"a".repeat(64), &[1; 1_024]), None);
    assert_eq!(make(size::MAX_CONTENT + 1, "k", b"w"), Some(HeaderError::ContentTooLong));
    for key_id in ["", "K", "a b", "\u{e9}", &"a".repeat(65)] {
        assert_eq!(make(0, key_id, b"w"), Some(HeaderError::KeyId), "{key_id}");
    }
    assert_eq!(make(0, "k", b""), Some(HeaderError::WrappedKey));
    assert_eq!(make(0, "k", &[1; 1_025]), Some(HeaderError::WrappedKey));
    let made = Header::multipart(&key(1), Binding::None, "k", b"w", &mut Broken);
    assert_eq!(made, Err(HeaderError::Random));
}

/// Section "Limits": the longest header, and the headers that fit into 500 bytes.
#[test]
fn headers_are_as_long_as_the_specification_says() {
    let make = |key_id: usize, wrapped: usize| {
        let (id, wrapped) = ("a".repeat(key_id), vec![1; wrapped]);
        Header::whole(&key(1), 5, Binding::Key, &id, &wrapped, &mut Seeded::new(1)).unwrap().0
    };
    let longest = make(64, 1_024).encode();
    assert_eq!((base64_decode(&longest).len(), longest.len()), (1_158, 1_544));
    assert!(Header::parse(&longest).is_ok());
    // RSA of 2,048 bits wraps into 256 bytes; the header name `endseal` has 7.
    assert!(make(43, 256).encode().len() + 7 <= 500);
}

#[test]
fn a_lower_binding_than_demanded_is_refused() {
    let place = Place::new("bucket", "key").unwrap();
    let bindings = [Binding::None, Binding::Bucket, Binding::Key];
    for has in bindings {
        let header = whole(5).rewrapped(has, "key-2", b"wrapped").unwrap();
        for demanded in bindings {
            let context = header.unwrap_context(&place, demanded);
            let expected = if has < demanded {
                Err(AuthenticationFailed)
            } else {
                Ok(place.wrap_context(has))
            };
            assert_eq!(context, expected);
        }
    }
}

#[test]
fn a_copy_is_wrapped_anew_and_opens_the_same_bytes() {
    let object = crate::fixture::Whole::new(30_000);
    let copy = object.header.rewrapped(Binding::None, "other", b"wrapped anew").unwrap();
    assert_eq!((copy.key_id(), copy.wrapped_key()), ("other", &b"wrapped anew"[..]));
    let read = Header::parse(&copy.encode()).unwrap();
    assert!(WholeOpener::new(&read, &object.key).is_ok());
    let (content, opened) = crate::fixture::open_whole(&read, &object.key, &object.object, 1_000);
    assert!(opened.is_ok() && content == object.content);
    assert_eq!(copy.rewrapped(Binding::None, "", b"w"), Err(HeaderError::KeyId));
    assert_eq!(copy.rewrapped(Binding::None, "k", b""), Err(HeaderError::WrappedKey));
}

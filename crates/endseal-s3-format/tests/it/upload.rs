//! Encrypted upload ids.

use endseal_s3_format::{AuthenticationFailed, Binding, Header, Place, UploadId, UploadIdError};

use crate::fixture::{Broken, Seeded, at, key, seal_message};
use crate::header::{base64_decode, base64_encode};

const BACKEND_ID: &str = "2~Xa8-the backend's own, \u{e9}";

fn header() -> Header {
    Header::multipart(&key(1), &at(Binding::Key), ("key-1", &[0x77; 60]), &mut Seeded::new(1))
        .unwrap()
}

fn place() -> Place<'static> {
    Place::new("bucket", "folder/key").unwrap()
}

fn good() -> String {
    UploadId::seal(&header(), &key(1), &place(), BACKEND_ID, &mut Seeded::new(2)).unwrap()
}

fn open(text: &str) -> Result<String, AuthenticationFailed> {
    UploadId::parse(text)?.open(&key(1), &place())
}

#[test]
fn the_backends_id_comes_back() {
    assert_eq!(open(&good()).as_deref(), Ok(BACKEND_ID));
    assert_eq!(UploadId::parse(&good()).unwrap().header(), &header());
    let longest = "i".repeat(1_024);
    for id in ["1", &longest] {
        let sealed = UploadId::seal(&header(), &key(1), &place(), id, &mut Seeded::new(2)).unwrap();
        assert_eq!(open(&sealed).as_deref(), Ok(id));
    }
    assert!(!good().contains(['+', '/', '=', '%']), "it stands in a query");
}

#[test]
fn it_opens_for_its_place_and_key_alone() {
    let id = UploadId::parse(&good()).unwrap();
    for (bucket, name) in
        [("bucke", "tfolder/key"), ("bucket", "folder/ke"), ("other", "folder/key")]
    {
        let place = Place::new(bucket, name).unwrap();
        assert_eq!(id.open(&key(1), &place), Err(AuthenticationFailed));
    }
    assert_eq!(id.open(&key(2), &place()), Err(AuthenticationFailed));
}

#[test]
fn every_flipped_byte_is_refused() {
    let good = base64_decode(&good());
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << bit;
            assert_eq!(open(&base64_encode(&bytes)), Err(AuthenticationFailed), "byte {at}");
        }
    }
    for len in 0..good.len() {
        assert_eq!(open(&base64_encode(&good[..len])), Err(AuthenticationFailed), "cut to {len}");
    }
    assert_eq!(open(&base64_encode(&[&good[..], &[0]].concat())), Err(AuthenticationFailed));
}

#[test]
fn other_upload_ids_are_refused() {
    let header = base64_decode(&header().encode());
    let (whole, _) =
        Header::whole(&key(1), 5, &at(Binding::Key), ("key-1", &[0x77; 60]), &mut Seeded::new(1))
            .unwrap();
    let whole = base64_decode(&whole.encode());
    let place = &b"\x02\x00\x06bucket\x00\x0afolder/key"[..];
    let with = |version: u8, header: &[u8], id: &[u8]| {
        let length = (header.len() as u16).to_be_bytes();
        let context = [b"endseal/s3-object@v1 upload", header, place].concat();
        let sealed = seal_message(&key(1), &context, id);
        base64_encode(&[&[version], &length[..], header, &sealed].concat())
    };
    assert_eq!(open(&with(1, &header, b"id")).as_deref(), Ok("id"));
    for (why, text) in [
        ("version 2", with(2, &header, b"id")),
        ("the header of a whole object", with(1, &whole, b"id")),
        ("no header", with(1, &[], b"id")),
        ("a header of another version", with(1, &[&[2], &header[1..]].concat(), b"id")),
        ("an empty id", with(1, &header, b"")),
        ("an id of 1,025", with(1, &header, &[b'i'; 1_025])),
        ("an id that is no text", with(1, &header, b"\xff\xfe")),
        ("nothing", String::new()),
        ("no base64url", "a/b+c=".to_owned()),
        ("padding", format!("{}=", good())),
        ("too long", "A".repeat(10_000_000)),
    ] {
        assert_eq!(open(&text), Err(AuthenticationFailed), "{why}");
    }
}

#[test]
fn what_cannot_be_an_upload_is_not_sealed() {
    let seal = |header: &Header, id: &str| {
        UploadId::seal(header, &key(1), &place(), id, &mut Seeded::new(2)).err()
    };
    assert_eq!(seal(&header(), ""), Some(UploadIdError::BackendId));
    assert_eq!(seal(&header(), &"i".repeat(1_025)), Some(UploadIdError::BackendId));
    let (whole, _) =
        Header::whole(&key(1), 5, &at(Binding::Key), ("k", b"w"), &mut Seeded::new(1)).unwrap();
    assert_eq!(seal(&whole, "id"), Some(UploadIdError::Form));
    let broken = UploadId::seal(&header(), &key(1), &place(), "id", &mut Broken);
    assert_eq!(broken, Err(UploadIdError::Random));
}

//! Encrypted upload ids.

use endseal_s3_format::{
    AnnouncedAlgorithm, AnnouncedChecksum, AuthenticationFailed, Binding, ChecksumAlgorithm,
    Header, Place, UploadId, UploadIdError,
};

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

fn seal(
    header: &Header,
    checksum: Option<AnnouncedChecksum>,
    id: &str,
) -> Result<String, UploadIdError> {
    UploadId::seal(header, &key(1), &place(), checksum, id, &mut Seeded::new(2))
}

fn good() -> String {
    seal(&header(), Some(CRC32), BACKEND_ID).unwrap()
}

/// Returns the backend's id.
fn open(text: &str) -> Result<String, AuthenticationFailed> {
    UploadId::parse(text)?.open(&key(1), &place()).map(|(_, id)| id)
}

const CRC32: AnnouncedChecksum = AnnouncedChecksum {
    algorithm: AnnouncedAlgorithm::Kept(ChecksumAlgorithm::Crc32),
    is_full_object: true,
};

#[test]
fn the_backends_id_comes_back() {
    assert_eq!(open(&good()).as_deref(), Ok(BACKEND_ID));
    assert_eq!(UploadId::parse(&good()).unwrap().header(), &header());
    let longest = "i".repeat(1_024);
    for id in ["1", &longest] {
        let sealed = seal(&header(), None, id).unwrap();
        assert_eq!(open(&sealed).as_deref(), Ok(id));
        assert!(sealed.len() <= UploadId::MAX_TEXT);
    }
    assert!(!good().contains(['+', '/', '=', '%']), "it stands in a query");
}

/// Returns all algorithms with their numbers, and the numbers of their valid types.
fn algorithms() -> [(u8, AnnouncedAlgorithm, &'static [u8]); 6] {
    let types: [&[u8]; 6] = [&[1, 2], &[1, 2], &[2], &[1], &[1], &[1]];
    let kept = ChecksumAlgorithm::ALL.map(AnnouncedAlgorithm::Kept);
    let [a, b, c, d, e] = kept;
    let all = [a, b, c, d, e, AnnouncedAlgorithm::Sha512];
    core::array::from_fn(|at| (at as u8 + 1, all[at], types[at]))
}

#[test]
fn the_announced_checksum_comes_back() {
    let opened = |text: &str| UploadId::parse(text).unwrap().open(&key(1), &place());
    assert_eq!(opened(&seal(&header(), None, "id").unwrap()), Ok((None, "id".to_owned())));
    for (number, algorithm, types) in algorithms() {
        for kind in [1, 2] {
            let checksum = AnnouncedChecksum { algorithm, is_full_object: kind == 2 };
            let sealed = seal(&header(), Some(checksum), "id");
            if types.contains(&kind) {
                assert_eq!(opened(&sealed.unwrap()), Ok((Some(checksum), "id".to_owned())));
                assert_eq!(
                    opened(&with(&[number, kind], b"id")),
                    Ok((Some(checksum), "id".into()))
                );
            } else {
                assert_eq!(sealed, Err(UploadIdError::Checksum), "{checksum:?}");
            }
        }
    }
}

#[test]
fn other_numbers_of_a_checksum_are_refused() {
    let known: Vec<[u8; 2]> = algorithms()
        .into_iter()
        .flat_map(|(number, _, types)| types.iter().map(move |kind| [number, *kind]))
        .collect();
    assert_eq!(known.len(), 8);
    for number in 0..=8 {
        for kind in 0..=4 {
            let is_known = [number, kind] == [0, 0] || known.contains(&[number, kind]);
            let opened = open(&with(&[number, kind], b"id"));
            assert_eq!(opened.is_ok(), is_known, "{number} {kind}");
        }
    }
    for bytes in [[255, 1], [1, 255], [255, 255]] {
        assert_eq!(open(&with(&bytes, b"id")), Err(AuthenticationFailed));
    }
}

/// Returns an upload id with these bytes of the checksum and of the backend's id.
fn with(checksum: &[u8], id: &[u8]) -> String {
    with_header(1, &base64_decode(&header().encode()), &[checksum, id].concat())
}

fn with_header(version: u8, header: &[u8], sealed: &[u8]) -> String {
    let place = &b"\x02\x00\x06bucket\x00\x0afolder/key"[..];
    let context = [b"endseal/s3-object@v1 upload", header, place].concat();
    let length = (header.len() as u16).to_be_bytes();
    let sealed = seal_message(&key(1), &context, sealed);
    base64_encode(&[&[version], &length[..], header, &sealed].concat())
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
    let with = |version: u8, header: &[u8], id: &[u8]| {
        with_header(version, header, &[b"\0\0", id].concat())
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
        ("a checksum that is cut", with_header(1, &header, b"\0")),
        ("neither checksum nor id", with_header(1, &header, b"")),
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
    let seal = |header: &Header, id: &str| seal(header, None, id).err();
    assert_eq!(seal(&header(), ""), Some(UploadIdError::BackendId));
    assert_eq!(seal(&header(), &"i".repeat(1_025)), Some(UploadIdError::BackendId));
    let (whole, _) =
        Header::whole(&key(1), 5, &at(Binding::Key), ("k", b"w"), &mut Seeded::new(1)).unwrap();
    assert_eq!(seal(&whole, "id"), Some(UploadIdError::Form));
    let broken = UploadId::seal(&header(), &key(1), &place(), None, "id", &mut Broken);
    assert_eq!(broken, Err(UploadIdError::Random));
}

//! Runs `vectors/s3-object/*.json`: each is opened in every way, and sealed again to the same
//! bytes.

use std::fs;

use aes_gcm::aead::{Aead as _, Payload};
use aes_gcm::{Aes256Gcm, KeyInit as _};
use bytes::BytesMut;
use endseal_crypto::hash;
use endseal_crypto::random::{Random, RandomError};
use endseal_s3_format::names::{NameSecret, Names};
use endseal_s3_format::{
    AnnouncedAlgorithm, Binding, Bound, ChecksumAlgorithm, ContentChecksum, ContentKey, Form,
    Header, ParkedUpload, PartNumber, PartSealer, Place, RangePlan, Receipt, Record, UploadId,
    marker, parked_folder, parked_folder_of, parked_key, receipt_key, recorded_folder,
    recorded_folder_of, recorded_id_key, size, user_metadata,
};
use serde_json::Value;

use crate::fixture::{open_range, open_record, open_whole, read_plan};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/s3-object");

fn load(path: &std::path::Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn every_vector() {
    let (mut successes, mut failures) = (0, 0);
    for file in fs::read_dir(FOLDER).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if name == "sizes" {
            continue;
        }
        let test = load(&path);
        let opened = match test["kind"].as_str().unwrap() {
            "object" => open_object(&name, &test),
            "upload-id" => open_upload_id(&name, &test),
            "name" => open_name(&name, &test),
            "name-secret" => open_name_secret(&name, &test),
            "parked-upload" => open_parked_upload(&name, &test),
            "recorded-id" => open_recorded_id(&name, &test),
            "receipt" => open_receipt(&name, &test),
            kind => panic!("{name}: {kind}"),
        };
        match test["expect"].as_str().unwrap() {
            "ok" => {
                assert!(opened.is_some(), "{name} does not open");
                successes += 1;
            }
            "authentication" => {
                assert!(opened.is_none(), "{name} opens");
                failures += 1;
            }
            expect => panic!("{name}: {expect}"),
        }
    }
    assert!(successes >= 40 && failures >= 225, "{successes} {failures}");
}

#[test]
fn sizes() {
    let test = load(&std::path::Path::new(FOLDER).join("sizes.json"));
    let pairs = test["pairs"].as_array().unwrap();
    for pair in pairs {
        let (plaintext, sealed) = (pair[0].as_u64().unwrap(), pair[1].as_u64().unwrap());
        assert_eq!(size::sealed_len(plaintext), Some(sealed));
        assert_eq!(size::plaintext_len(sealed), Some(plaintext));
    }
    let none = test["none"].as_array().unwrap();
    for sealed in none {
        assert_eq!(size::plaintext_len(sealed.as_u64().unwrap()), None, "{sealed}");
    }
    assert!(pairs.len() >= 30 && none.len() >= 17);
}

fn text<'a>(test: &'a Value, field: &str) -> &'a str {
    test[field].as_str().unwrap()
}

fn unhex(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap();
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..][..2], 16).unwrap()).collect()
}

fn array<const N: usize>(value: &Value) -> [u8; N] {
    unhex(value).try_into().unwrap()
}

/// Returns content of which byte i is i mod 251.
fn pattern(start: u64, len: u64) -> Vec<u8> {
    (start..start + len).map(|i| (i % 251) as u8).collect()
}

/// A random source that returns the given salts.
struct Script(Vec<[u8; 24]>);

impl Script {
    fn new(salts: &[[u8; 24]]) -> Self {
        Self(salts.iter().rev().copied().collect())
    }
}

impl Random for Script {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        buffer.copy_from_slice(&self.0.pop().expect("a vector needs as many salts as it has"));
        Ok(())
    }
}

/// Unwraps a content key with the key ring of the vectors.
fn unwrap_key(test: &Value, header: &Header) -> Option<ContentKey> {
    let place = Place::new(text(test, "bucket"), text(test, "key")).unwrap();
    let demanded = match test.get("demanded-binding").map_or(2, |byte| byte.as_u64().unwrap()) {
        0 => Binding::None,
        1 => Binding::Bucket,
        _ => Binding::Key,
    };
    let aad = Header::wrap_context();
    if header.key_id() != "vector" {
        return None;
    }
    let (nonce, msg) = header.wrapped_key().split_first_chunk::<12>()?;
    let aead = Aes256Gcm::new(&array(&test["wrapping-key"]).into());
    let key = aead.decrypt(&(*nonce).into(), Payload { msg, aad }).ok()?;
    let key = ContentKey::from_bytes(&key.try_into().ok()?);
    header.verify_place(&key, &place, demanded).ok()?;
    Some(key)
}

fn open_object(name: &str, test: &Value) -> Option<()> {
    let header = Header::parse(text(test, "header")).ok()?;
    assert_eq!(header.encode(), text(test, "header"), "{name}");
    let key = unwrap_key(test, &header)?;
    let object = body(name, test, &key);
    let metadata = test.get("metadata").map(|metadata| metadata.as_str().unwrap());
    let metadata =
        metadata.map(|metadata| user_metadata::open(&header, &key, metadata)).transpose().ok()?;
    let (content, record) = match header.form() {
        _ if object.is_empty() => {
            (Vec::new(), marker::open(&header, &key, text(test, "key")).ok()?)
        }
        Form::Whole => read_whole(name, &header, &key, &object)?,
        Form::Multipart => read_multipart(name, &header, &key, &object)?,
    };
    if test["expect"] == "ok" {
        let len = test["plaintext-length"].as_u64().unwrap();
        let stored = size::plaintext_len(object.len() as u64);
        assert_eq!(stored.unwrap_or(0), len, "{name}");
        assert_eq!(stored.is_none(), object.is_empty(), "{name}");
        assert!(content == pattern(0, len), "{name}");
        let checksum = record.checksum().map(ContentChecksum::as_bytes);
        assert_eq!(checksum, test.get("checksum").map(unhex).as_deref(), "{name}");
        let kind = test.get("checksum-kind").map_or(0, |kind| kind.as_u64().unwrap());
        let kinds = ["None", "Crc32", "Crc32c", "Crc64Nvme", "Sha1", "Sha256"];
        let read = record.checksum().map_or("None".to_owned(), |c| format!("{:?}", c.algorithm()));
        assert_eq!(read, kinds[kind as usize], "{name}");
        assert_eq!(record.is_composite(), test.get("composite") == Some(&Value::Bool(true)));
        if let Some(metadata) = metadata {
            let expected = test["user-metadata"].as_object().unwrap();
            let entries = expected.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            let read = metadata.iter().map(|(name, value)| (name, str::from_utf8(value).ok()));
            assert!(read.eq(entries), "{name}");
        }
        if object.is_empty() {
            assert!(marker::is_marker(text(test, "key"), len), "{name}");
        } else {
            let copy = Header::parse_copy(&object).unwrap();
            assert!(copy.is_of_same_object(&header), "{name}");
            if copy == header {
                seal_again(name, test, &key, &record, &object);
            } else {
                assert!(name.starts_with("copy-"), "{name}");
            }
        }
    }
    Some(())
}

/// Returns the object itself, or seals it as the vector describes.
fn body(name: &str, test: &Value, key: &ContentKey) -> Vec<u8> {
    let Some(parts) = test.get("parts") else { return unhex(&test["body"]) };
    let mut out = BytesMut::new();
    for part in parts.as_array().unwrap() {
        let number = part["number"].as_u64().unwrap() as u16;
        let (start, len) = (part["start"].as_u64().unwrap(), part["length"].as_u64().unwrap());
        let mut salt = Script::new(&[array(&part["salt"])]);
        let number = PartNumber::new(number).unwrap();
        let mut sealer = PartSealer::new(key, number, len, &mut salt).unwrap();
        sealer.push(&pattern(start, len), &mut out).unwrap();
        sealer.finish(&mut out).unwrap();
    }
    out.extend(unhex(&test["tail"]));
    assert_eq!(hash::digest(&out).to_vec(), unhex(&test["body-blake3"]), "{name}");
    out.to_vec()
}

/// Reads an object in one piece, in small pieces, and by ranges.
fn read_whole(
    name: &str,
    header: &Header,
    key: &ContentKey,
    object: &[u8],
) -> Option<(Vec<u8>, Record)> {
    let (content, opened) = open_whole(header, key, object, 1 << 20);
    let (pieces, opened_pieces) = open_whole(header, key, object, 99);
    assert_eq!(opened_pieces, opened, "{name}: in pieces");
    // Content from bytes that are refused must not be released.
    assert!(pieces == content || opened.is_err(), "{name}: in pieces");
    let record = opened.ok()?;
    assert_eq!(open_record(header, key, object), Ok(record.clone()), "{name}: its tail");
    let plan = RangePlan::whole(content.len() as u64, 0..content.len() as u64).unwrap();
    let (range, read) = read_plan(header, key, plan, object, 5_000);
    assert!(read.is_ok() && range == content, "{name}: as a range");
    Some((content, record))
}

fn read_multipart(
    name: &str,
    header: &Header,
    key: &ContentKey,
    object: &[u8],
) -> Option<(Vec<u8>, Record)> {
    let record = open_record(header, key, object).ok()?;
    let all = 0..record.plaintext_len();
    let (content, opened) = open_range(header, key, &record, all.clone(), object);
    let plan = RangePlan::multipart(&record, all.clone()).unwrap();
    let (pieces, opened_pieces) = read_plan(header, key, plan, object, 4_999);
    assert_eq!(opened_pieces, opened, "{name}: in pieces");
    assert!(pieces == content || opened.is_err(), "{name}: in pieces");
    opened.ok()?;
    let half = all.end / 2..all.end;
    let (range, read) = open_range(header, key, &record, half.clone(), object);
    assert!(read.is_ok() && range == content[half.start as usize..], "{name}: its second half");
    Some((content, record))
}

/// With the same salts, the sealers must write the same bytes.
fn seal_again(name: &str, test: &Value, key: &ContentKey, record: &Record, object: &[u8]) {
    let read = Header::parse(text(test, "header")).unwrap();
    let place = Place::new(text(test, "bucket"), text(test, "key")).unwrap();
    let binding = read.binding();
    let bound = Bound { place, binding, has_sealed_metadata: read.has_sealed_metadata() };
    let (id, wrapped) = (read.key_id(), read.wrapped_key());
    let header_salt = [0x51; 24];
    let tail_salt = [0x7a; 24];
    let mut out = BytesMut::new();
    let header = match read.plaintext_len() {
        Some(len) => {
            let mut random = Script::new(&[header_salt, tail_salt]);
            let (header, mut sealer) =
                Header::whole(key, len, &bound, (id, wrapped), &mut random).unwrap();
            sealer.push(&pattern(0, len), &mut out).unwrap();
            sealer.finish(record.checksum().copied(), &mut out).unwrap();
            header
        }
        None => {
            let mut random = Script::new(&[header_salt, tail_salt]);
            let header = Header::multipart(key, &bound, (id, wrapped), &mut random).unwrap();
            out.extend_from_slice(&object[..record.body_len() as usize]);
            record.seal_tail(&header, key, &mut random, &mut out).unwrap();
            header
        }
    };
    assert_eq!(header.encode(), text(test, "header"), "{name}");
    assert!(out == object, "{name}: sealed again");
    if let Some(metadata) = test.get("metadata") {
        let metadata = metadata.as_str().unwrap();
        let opened = user_metadata::open(&header, key, metadata).unwrap();
        let mut random = Script::new(&[[0x3d; 24]]);
        let sealed = user_metadata::seal(&header, key, &opened, &mut random);
        assert_eq!(sealed.as_deref(), Ok(metadata), "{name}");
    }
}

fn open_upload_id(name: &str, test: &Value) -> Option<()> {
    let id = UploadId::parse(text(test, "upload-id")).ok()?;
    let key = unwrap_key(test, id.header())?;
    let place = Place::new(text(test, "bucket"), text(test, "key")).unwrap();
    let (checksum, backend) = id.open(&key, &place).ok()?;
    if test["expect"] == "ok" {
        assert_eq!(backend, text(test, "backend-upload-id"), "{name}");
        let named = checksum.map(|it| {
            let number = match it.algorithm {
                AnnouncedAlgorithm::Kept(known) => {
                    1 + ChecksumAlgorithm::ALL.iter().position(|it| *it == known).unwrap()
                }
                AnnouncedAlgorithm::Sha512 => 6,
            };
            (number as u64, if it.is_full_object { 2 } else { 1 })
        });
        let field = |field: &str| test.get(field).and_then(Value::as_u64);
        assert_eq!(named, field("checksum-kind").zip(field("checksum-type")), "{name}");
        let mut random = Script::new(&[[0x0d; 24]]);
        let sealed = UploadId::seal(id.header(), &key, &place, checksum, &backend, &mut random);
        assert_eq!(sealed.as_deref(), Ok(text(test, "upload-id")), "{name}");
    }
    Some(())
}

fn open_name(name: &str, test: &Value) -> Option<()> {
    let secret = NameSecret::from_bytes(&array(&test["name-secret"]));
    let names = Names::new(&secret, text(test, "bucket"));
    let key = names.open_key(text(test, "sealed-key")).ok()?;
    if test["expect"] == "ok" {
        assert_eq!(key, text(test, "key"), "{name}");
        assert_eq!(names.seal_key(&key).as_deref(), Ok(text(test, "sealed-key")), "{name}");
    }
    Some(())
}

fn open_name_secret(name: &str, test: &Value) -> Option<()> {
    let secret = NameSecret::parse(text(test, "file").as_bytes()).ok()?;
    if test["expect"] == "ok" {
        assert_eq!(*secret.expose_secret(), array(&test["name-secret"]), "{name}");
        assert_eq!(secret.check(), text(test, "check"), "{name}");
        assert_eq!(*secret.to_text(), text(test, "file"), "{name}");
    }
    Some(())
}

fn open_parked_upload(name: &str, test: &Value) -> Option<()> {
    let upload = ParkedUpload::parse(text(test, "metadata")).ok()?;
    if test["expect"] == "ok" {
        let backend = text(test, "backend-upload-id");
        assert_eq!((&*upload.key, &*upload.backend_id), (text(test, "upload-key"), backend));
        assert_eq!(upload.encode().as_deref(), Some(text(test, "metadata")), "{name}");
        assert_eq!(upload.folder(), text(test, "folder"), "{name}");
        assert_eq!(parked_folder(backend), text(test, "folder"), "{name}");
        let part = parked_key(backend, PartNumber::new(7).unwrap());
        assert_eq!(part, format!("{}00007", text(test, "folder")), "{name}");
        assert_eq!(parked_folder_of(&part), Some(text(test, "folder")), "{name}");
    }
    Some(())
}

fn open_recorded_id(name: &str, test: &Value) -> Option<()> {
    let id = UploadId::parse(text(test, "record")).ok()?;
    let key = unwrap_key(test, id.header())?;
    let place = Place::new(text(test, "bucket"), text(test, "key")).unwrap();
    let (_, backend) = id.open(&key, &place).ok()?;
    if backend != text(test, "listed-id") {
        return None;
    }
    if test["expect"] == "ok" {
        let record = recorded_id_key(&backend);
        assert_eq!(record, text(test, "record-key"), "{name}");
        assert_eq!(recorded_folder_of(&record), Some(recorded_folder(&backend).as_str()));
    }
    Some(())
}

fn open_receipt(name: &str, test: &Value) -> Option<()> {
    let header = Header::parse(text(test, "header")).unwrap();
    let key = unwrap_key(test, &header).unwrap();
    let number = PartNumber::new(test["number"].as_u64().unwrap() as u16).unwrap();
    let sealed = unhex(&test["receipt"]);
    let receipt = Receipt::open(&key, number, &sealed).ok()?;
    if test["expect"] == "ok" {
        assert_eq!(receipt.salt, array(&test["part-salt"]), "{name}");
        assert_eq!(receipt.plaintext_len, test["plaintext-length"].as_u64().unwrap(), "{name}");
        assert_eq!(receipt.sha256, test.get("sha256").map(array), "{name}");
        let checksum = receipt.checksum.as_ref().map(ContentChecksum::as_bytes);
        assert_eq!(checksum, test.get("checksum").map(unhex).as_deref(), "{name}");
        assert_eq!(receipt.entity_tag, text(test, "entity-tag"), "{name}");
        let again = receipt.seal(&key, number, &mut Script::new(&[[0x4e; 24]]));
        assert_eq!(again.as_ref(), Ok(&sealed), "{name}");
        assert!(sealed.len() <= Receipt::MAX_LEN);
        let backend = text(test, "backend-upload-id");
        let lies_at = receipt_key(backend, number, &receipt.entity_tag);
        assert_eq!(lies_at, text(test, "receipt-key"), "{name}");
        assert_eq!(recorded_folder_of(&lies_at), Some(recorded_folder(backend).as_str()));
    }
    Some(())
}

//! Vectors of docs/spec/s3-object.md.

use std::path::Path;

use aes_gcm::aead::{Aead as _, Payload};
use aes_gcm::{Aes256Gcm, KeyInit as _};
use base64ct::{Base64UrlUnpadded, Encoding as _};
use endseal_crypto::hazmat;
use endseal_crypto::segment::{InputKey, KeySource, SliceSealer, chunks_len};
use endseal_testing::{Vector, hex};

#[path = "object/header.rs"]
mod header;
#[path = "object/metadata.rs"]
mod metadata;
#[path = "object/multipart.rs"]
mod multipart;
#[path = "object/name_secret.rs"]
mod name_secret;
#[path = "object/names.rs"]
mod names;
#[path = "object/parked.rs"]
mod parked;
#[path = "object/receipt.rs"]
mod receipt;
#[path = "object/recorded_id.rs"]
mod recorded_id;
#[path = "object/size.rs"]
mod size;
#[path = "object/upload_id.rs"]
mod upload_id;
#[path = "object/whole.rs"]
mod whole;

pub(crate) fn write(dir: &Path) {
    size::write(dir);
    whole::write(dir);
    header::write(dir);
    multipart::write(dir);
    metadata::write(dir);
    upload_id::write(dir);
    names::write(dir);
    name_secret::write(dir);
    parked::write(dir);
    recorded_id::write(dir);
    receipt::write(dir);
}

const WRAPPING_KEY: [u8; 32] = [0x11; 32];
const CONTENT_KEY: [u8; 32] = [0xc0; 32];
const KEY_ID: &str = "vector";
const BUCKET: &str = "bucket";
const KEY: &str = "folder/key";
const HEADER_SALT: [u8; 24] = [0x51; 24];
const TAIL_SALT: [u8; 24] = [0x7a; 24];
const METADATA_SALT: [u8; 24] = [0x3d; 24];
/// Length of the copy of the header at the end of an object.
const COPY: usize = 689;
const MIN: u64 = 5 << 20;

fn base64(bytes: &[u8]) -> String {
    Base64UrlUnpadded::encode_string(bytes)
}

/// Returns content of which byte i is i mod 251.
fn pattern(start: u64, len: u64) -> Vec<u8> {
    (start..start + len).map(|i| u8::try_from(i % 251).unwrap()).collect()
}

fn key(bytes: &[u8; 32]) -> InputKey {
    InputKey::from_bytes(bytes)
}

fn context(kind: &str, rest: &[u8]) -> Vec<u8> {
    [b"endseal/s3-object@v1 ", kind.as_bytes(), rest].concat()
}

/// Seals chunks. Returns them without salt and commitment.
fn chunks(salt: &[u8; 24], context: &[u8], plaintext: &[u8]) -> Vec<u8> {
    let len = chunks_len(plaintext.len() as u64).unwrap();
    let mut out = vec![0; usize::try_from(len).unwrap()];
    let keys = hazmat::seal_keys(&KeySource::new(&key(&CONTENT_KEY)), salt, context).0;
    let mut sealer = SliceSealer::new(keys, &mut out);
    sealer.push(plaintext);
    sealer.finish();
    out
}

fn salted(salt: &[u8; 24], context: &[u8], plaintext: &[u8]) -> Vec<u8> {
    [&salt[..], &chunks(salt, context, plaintext)].concat()
}

fn place(binding: u8, bucket: &str, key: &str) -> Vec<u8> {
    let names = [bucket, key];
    let mut out = vec![binding];
    for name in &names[..binding.min(2).into()] {
        out.extend(u16::try_from(name.len()).unwrap().to_be_bytes());
        out.extend(name.as_bytes());
    }
    out
}

/// Returns `nonce (12) || AES-256-GCM || tag` of the content key.
fn wrapped() -> Vec<u8> {
    let nonce = [0x9e; 12];
    let aad = context("wrap", &[]);
    let aead = Aes256Gcm::new(&WRAPPING_KEY.into());
    let payload = Payload { msg: &CONTENT_KEY, aad: &aad };
    [&nonce[..], &aead.encrypt(&nonce.into(), payload).unwrap()].concat()
}

/// Returns the context of the tag that binds an object to its place.
fn place_context(binding: u8) -> Vec<u8> {
    context("place", &[&[0][..], &place(binding, BUCKET, KEY)].concat())
}

/// Returns the tag that binds an object to its place.
fn place_tag(binding: u8) -> [u8; 32] {
    let source = KeySource::new(&key(&CONTENT_KEY));
    hazmat::seal_keys(&source, &HEADER_SALT, &place_context(binding)).1
}

/// Returns the copy of a header at the end of an object.
fn header_copy(header: &[u8]) -> Vec<u8> {
    let mut out = header.to_vec();
    out.resize(679, 0);
    out.extend(u16::try_from(header.len()).unwrap().to_be_bytes());
    out.extend(b"endseal\x01");
    out
}

/// Returns an object with another copy of a header at its end.
fn with_copy(object: &[u8], copy: &[u8]) -> Vec<u8> {
    [&object[..object.len() - COPY], copy].concat()
}

/// Returns the header of a whole object with that length, or of a multipart object.
fn header(form: u8, binding: u8, plaintext_len: u64) -> Vec<u8> {
    let context = match form {
        1 => context("body", &plaintext_len.to_be_bytes()),
        _ => context("multipart", &[]),
    };
    let source = KeySource::new(&key(&CONTENT_KEY));
    let (_, commitment) = hazmat::seal_keys(&source, &HEADER_SALT, &context);
    let place_tag = place_tag(binding);
    let wrapped = wrapped();
    [
        &[1, form, binding, 0][..],
        &plaintext_len.to_be_bytes(),
        &HEADER_SALT,
        &commitment,
        &place_tag,
        &[u8::try_from(KEY_ID.len()).unwrap()],
        KEY_ID.as_bytes(),
        &u16::try_from(wrapped.len()).unwrap().to_be_bytes(),
        &wrapped,
    ]
    .concat()
}

/// Returns a record without entries.
fn record_head(form: u8, parts: u32, plaintext_len: u64) -> Vec<u8> {
    [&[1, form][..], &[0; 34], &parts.to_be_bytes(), &plaintext_len.to_be_bytes()].concat()
}

fn entry(number: u16, len: u64, salt: &[u8; 24]) -> Vec<u8> {
    [&number.to_be_bytes()[..], &len.to_be_bytes()[2..], salt].concat()
}

fn sealed_len(plaintext_len: u64) -> u64 {
    let slots = (plaintext_len / MIN + 1).min(10_000);
    plaintext_len + 16 * (plaintext_len / 16_384 + 1) + 92 + 80 * slots + COPY as u64
}

/// Returns the tail that follows `body_len` bytes of an object of T(`plaintext_len`) bytes.
fn tail(form: u8, plaintext_len: u64, body_len: usize, record: &[u8]) -> Vec<u8> {
    let header = header(form, 2, if form == 1 { plaintext_len } else { 0 });
    tail_with(&header, (form, plaintext_len), body_len, record)
}

/// Returns the tail with the copy of a header.
fn tail_with(
    header: &[u8],
    (form, plaintext_len): (u8, u64),
    body_len: usize,
    record: &[u8],
) -> Vec<u8> {
    let context = context("record", &[&[form], header].concat());
    let sealed = salted(&TAIL_SALT, &context, record);
    let total = usize::try_from(sealed_len(plaintext_len)).unwrap();
    let mut out = vec![0; total - body_len - sealed.len() - 4 - COPY];
    out.extend(&sealed);
    out.extend(u32::try_from(sealed.len()).unwrap().to_be_bytes());
    out.extend(header_copy(header));
    out
}

/// Returns the body and the tail of a whole object.
fn whole_object(plaintext_len: u64, record: &[u8]) -> Vec<u8> {
    whole_object_with(&header(1, 2, plaintext_len), plaintext_len, record)
}

/// Returns the body and the tail of a whole object, with the copy of a header.
fn whole_object_with(header: &[u8], plaintext_len: u64, record: &[u8]) -> Vec<u8> {
    let context = context("body", &plaintext_len.to_be_bytes());
    let body = chunks(&HEADER_SALT, &context, &pattern(0, plaintext_len));
    let tail = tail_with(header, (1, plaintext_len), body.len(), record);
    [body, tail].concat()
}

/// Returns `bytes` with a field replaced.
fn replaced(bytes: &[u8], at: usize, field: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + field.len()].copy_from_slice(field);
    bytes
}

/// Returns `bytes` with a bit of one byte flipped.
fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    replaced(bytes, at, &[bytes[at] ^ 1])
}

/// Returns a vector with the fields that all vectors of objects have.
fn vector(scenario: &str, comment: &str, expect: &str) -> Vector {
    Vector::new(scenario, comment, expect)
        .with("kind", "object")
        .with("bucket", BUCKET)
        .with("key", KEY)
        .with_hex("wrapping-key", &WRAPPING_KEY)
}

/// Returns a part as a vector describes it: the way to seal it, instead of its 5 MiB.
fn part_json(number: u16, start: u64, len: u64, salt: &[u8; 24]) -> String {
    let salt = hex(salt);
    format!("{{\"number\": {number}, \"start\": {start}, \"length\": {len}, \"salt\": \"{salt}\"}}")
}

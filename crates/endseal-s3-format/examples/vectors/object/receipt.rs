//! Vectors of receipts of parts.

use std::path::Path;

use endseal_crypto::hash;
use endseal_crypto::label::S3_TAG;
use endseal_crypto::sha256;
use endseal_testing::{Vector, hex};

use super::upload_id::BACKEND;
use super::{BUCKET, KEY, WRAPPING_KEY, base64, context, flipped, header, parked, pattern, salted};

const SALT: [u8; 24] = [0x4e; 24];
const PART_SALT: [u8; 24] = [0xa7; 24];
const NUMBER: u16 = 7;
const LENGTH: u64 = 100_000;
const TAG: &str = "0123456789abcdef0123456789abcdef";
const MOST: u64 = 5 << 40;

/// An absent checksum and its kind, as a record has them.
const NO_CHECKSUM: [u8; 33] = [0; 33];

fn message(version: u8, salt: &[u8; 24], length: u64, digest: &[u8], tag: &[u8]) -> Vec<u8> {
    with_checksum(version, (salt, length), digest, &NO_CHECKSUM, tag)
}

fn with_checksum(
    version: u8,
    (salt, length): (&[u8; 24], u64),
    digest: &[u8],
    checksum: &[u8; 33],
    tag: &[u8],
) -> Vec<u8> {
    [&[version], &salt[..], &length.to_be_bytes(), digest, checksum, tag].concat()
}

fn checksum(kind: u8, value: &[u8]) -> [u8; 33] {
    let mut field = NO_CHECKSUM;
    field[0] = kind;
    field[1..=value.len()].copy_from_slice(value);
    field
}

fn receipt(number: u16, message: &[u8]) -> Vec<u8> {
    salted(&SALT, &context("receipt", &number.to_be_bytes()), message)
}

fn key(number: u16, tag: &str) -> String {
    let mut digest = [0; 16];
    hash::derive_into(S3_TAG, &[tag.as_bytes()], &mut digest);
    format!(".endseal/upload/{}/{number:05}-{}", parked::id(BACKEND), hex(&digest))
}

pub(super) fn write(dir: &Path) {
    let vector = |scenario: &str, comment: &str, expect: &str, number: u16, receipt: &[u8]| {
        Vector::new(scenario, comment, expect)
            .with("kind", "receipt")
            .with("bucket", BUCKET)
            .with("key", KEY)
            .with_hex("wrapping-key", &WRAPPING_KEY)
            .with("header", &base64(&header(2, 2, 0)))
            .with_json("number", &number.to_string())
            .with_hex("receipt", receipt)
    };
    let digest = sha256::digest(&pattern(0, LENGTH));
    let empty = sha256::digest(b"");
    let long = "t".repeat(1_024);
    for (scenario, comment, number, length, digest, tag) in [
        ("receipt", "of a part", NUMBER, LENGTH, digest, TAG),
        ("receipt-first", "number 1, no content, a tag of one byte", 1, 0, empty, "t"),
        ("receipt-last", "number 10,000, 5 TiB, 1,024 bytes", 10_000, MOST, digest, &long),
        ("receipt-text", "a tag with letters of more bytes", NUMBER, LENGTH, digest, "\u{e9}-2"),
    ] {
        let message = message(2, &PART_SALT, length, &digest, tag.as_bytes());
        vector(scenario, comment, "ok", number, &receipt(number, &message))
            .with_hex("part-salt", &PART_SALT)
            .with_json("plaintext-length", &length.to_string())
            .with_hex("sha256", &digest)
            .with_json("entity-tag", &format!("\"{}\"", tag.replace('\u{e9}', "\\u00e9")))
            .with("backend-upload-id", BACKEND)
            .with("receipt-key", &key(number, tag))
            .write(dir);
    }
    let unknown = [0; 32];
    for (scenario, comment, digest, kind, value) in [
        ("receipt-crc32", "with a CRC32 and no SHA-256", &unknown, 1, &[0xcc; 4][..]),
        ("receipt-crc64nvme", "with a CRC64NVME and a SHA-256", &digest, 3, &[0xcc; 8]),
        ("receipt-sha256", "with a SHA-256 as the checksum", &digest, 5, &digest),
        ("receipt-unknown", "with neither", &unknown, 0, &[]),
    ] {
        let field = checksum(kind, value);
        let message = with_checksum(2, (&PART_SALT, LENGTH), digest, &field, TAG.as_bytes());
        let vector = vector(scenario, comment, "ok", NUMBER, &receipt(NUMBER, &message))
            .with_hex("part-salt", &PART_SALT)
            .with_json("plaintext-length", &LENGTH.to_string());
        let vector = match *digest == unknown {
            true => vector,
            false => vector.with_hex("sha256", digest),
        };
        let vector = match kind {
            0 => vector,
            _ => vector.with_json("checksum-kind", &kind.to_string()).with_hex("checksum", value),
        };
        vector
            .with_json("entity-tag", &format!("\"{TAG}\""))
            .with("backend-upload-id", BACKEND)
            .with("receipt-key", &key(NUMBER, TAG))
            .write(dir);
    }
    let tag = TAG.as_bytes();
    let plain = message(2, &PART_SALT, LENGTH, &digest, tag);
    let good = receipt(NUMBER, &plain);
    let make = |message: &[u8]| receipt(NUMBER, message);
    for (scenario, comment, sealed) in [
        ("receipt-version", "version 1", make(&message(1, &PART_SALT, LENGTH, &digest, tag))),
        ("receipt-version-3", "version 3", make(&message(3, &PART_SALT, LENGTH, &digest, tag))),
        ("receipt-checksum-kind", "an unknown kind of checksum", {
            let field = checksum(6, &[]);
            make(&with_checksum(2, (&PART_SALT, LENGTH), &digest, &field, tag))
        }),
        ("receipt-checksum-none", "a checksum of kind 0", {
            let field = checksum(0, &[1]);
            make(&with_checksum(2, (&PART_SALT, LENGTH), &digest, &field, tag))
        }),
        ("receipt-checksum-behind", "a byte behind a CRC32", {
            let field = checksum(1, &[9, 9, 9, 9, 1]);
            make(&with_checksum(2, (&PART_SALT, LENGTH), &digest, &field, tag))
        }),
        ("receipt-salt-zero", "a salt of zeros", make(&message(2, &[0; 24], LENGTH, &digest, tag))),
        ("receipt-length", "5 TiB and a byte", {
            make(&message(2, &PART_SALT, MOST + 1, &digest, tag))
        }),
        ("receipt-no-tag", "no entity tag", make(&message(2, &PART_SALT, LENGTH, &digest, b""))),
        ("receipt-tag-long", "an entity tag of 1,025 bytes", {
            make(&message(2, &PART_SALT, LENGTH, &digest, &[b't'; 1_025]))
        }),
        ("receipt-tag-text", "an entity tag that is no UTF-8", {
            make(&message(2, &PART_SALT, LENGTH, &digest, &[0xff]))
        }),
        ("receipt-digest-cut", "a digest of 31 bytes and nothing else", make(&plain[..64])),
        ("receipt-empty", "nothing within", make(b"")),
        ("receipt-number", "sealed for another part", receipt(NUMBER + 1, &plain)),
        ("receipt-little-endian", "the number in the other order", {
            receipt(NUMBER.swap_bytes(), &plain)
        }),
        ("receipt-part", "sealed as content of the part", {
            salted(&SALT, &context("part", &NUMBER.to_be_bytes()), &plain)
        }),
        ("receipt-unnumbered", "sealed for no part", {
            salted(&SALT, &context("receipt", &[]), &plain)
        }),
        ("receipt-salt", "its salt flipped", flipped(&good, 0)),
        ("receipt-first-byte", "its first sealed byte flipped", flipped(&good, 24)),
        ("receipt-flipped", "the entity tag flipped", flipped(&good, good.len() - 17)),
        ("receipt-tag", "the chunk's tag flipped", flipped(&good, good.len() - 1)),
        ("receipt-cut", "a byte short", good[..good.len() - 1].to_vec()),
        ("receipt-behind", "a byte behind it", [&good[..], &[0]].concat()),
        ("receipt-salt-alone", "nothing but the salt", good[..24].to_vec()),
        ("receipt-salt-cut", "half a salt", good[..12].to_vec()),
        ("receipt-nothing", "nothing", Vec::new()),
    ] {
        vector(scenario, comment, "authentication", NUMBER, &sealed).write(dir);
    }
}

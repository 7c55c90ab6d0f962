//! Vectors of the MD5 of the content, which is stored beside an object.

use std::path::Path;

use endseal_crypto::hazmat;
use endseal_crypto::legacy_hash::Md5;
use endseal_crypto::segment::{KeySource, SliceSealer};
use endseal_testing::Vector;

use super::{
    MD5_SALT, METADATA_SALT, base64, context, entry, flipped, header, key, pattern, record_head,
    salted, tail, vector, whole_object,
};

fn md5(content: &[u8]) -> [u8; 16] {
    let mut md5 = Md5::new();
    md5.update(content);
    md5.finish()
}

fn sealed(plain: &[u8]) -> Vec<u8> {
    salted(&MD5_SALT, &context("md5", &[]), plain)
}

/// Returns a whole object with that entry beside it.
fn object(scenario: &str, comment: &str, expect: &str, len: u64, text: &str) -> Vector {
    vector(scenario, comment, expect)
        .with("header", &base64(&header(1, 2, len)))
        .with("md5-entry", text)
        .with_hex("body", &whole_object(len, &record_head(1, 0, len)))
}

pub(super) fn write(dir: &Path) {
    for (scenario, comment, len) in [
        ("md5", "of nine bytes", 9),
        ("md5-empty-content", "of nothing", 0),
        ("md5-longer-content", "of 1,000 bytes", 1_000),
    ] {
        let md5 = md5(&pattern(0, len));
        object(scenario, comment, "ok", len, &base64(&sealed(&md5)))
            .with_json("plaintext-length", &len.to_string())
            .with_hex("md5", &md5)
            .write(dir);
    }
    let content = pattern(0, 9);
    let md5 = md5(&content);
    let good = sealed(&md5);
    let metadata = [&[0, 1][..], b"a", &[0, 1], b"b"].concat();
    object("md5-and-metadata", "beside encrypted user metadata", "ok", 9, &base64(&good))
        .with("metadata", &base64(&salted(&METADATA_SALT, &context("metadata", &[]), &metadata)))
        .with_json("user-metadata", "{\"a\": \"b\"}")
        .with_json("plaintext-length", "9")
        .with_hex("md5", &md5)
        .write(dir);

    for (scenario, comment, bytes) in [
        ("md5-flipped", "flipped", flipped(&good, 30)),
        ("md5-salt", "its salt flipped", flipped(&good, 0)),
        ("md5-tag", "its last byte flipped", flipped(&good, 55)),
        ("md5-cut", "a byte short", good[..55].to_vec()),
        ("md5-longer", "a byte behind it", [&good[..], &[0]].concat()),
        ("md5-nothing", "nothing", Vec::new()),
        ("md5-salt-alone", "the salt alone", MD5_SALT.to_vec()),
        ("md5-of-15", "15 bytes of it, sealed", sealed(&md5[1..])),
        ("md5-of-17", "17 bytes, sealed", sealed(&[&md5[..], &[0]].concat())),
        ("md5-of-0", "no byte, sealed", sealed(&[])),
        ("md5-in-the-clear", "the MD5 as it is", md5.to_vec()),
        ("md5-context", "sealed as user metadata", {
            salted(&MD5_SALT, &context("metadata", &[]), &md5)
        }),
        ("md5-context-body", "sealed as a body of its length", {
            salted(&MD5_SALT, &context("body", &16_u64.to_be_bytes()), &md5)
        }),
        ("md5-of-another", "that of another object, under its content key", {
            let source = KeySource::new(&key(&[0xc1; 32]));
            let keys = hazmat::seal_keys(&source, &MD5_SALT, &context("md5", &[])).0;
            let mut out = vec![0; 32];
            let mut sealer = SliceSealer::new(keys, &mut out);
            sealer.push(&md5);
            sealer.finish();
            [&MD5_SALT[..], &out].concat()
        }),
    ] {
        object(scenario, comment, "authentication", 9, &base64(&bytes)).write(dir);
    }
    beside_multipart(dir);
    let text = base64(&good);
    for (scenario, comment, text) in [
        ("md5-text-padding", "padding behind it", format!("{text}=")),
        ("md5-text-alphabet", "the alphabet of base64", format!("{}+", &text[..text.len() - 1])),
        ("md5-text-hexadecimal", "in hexadecimal", endseal_testing::hex(&good)),
    ] {
        object(scenario, comment, "authentication", 9, &text).write(dir);
    }
}

/// A multipart object has no such entry: writers must not add one, and readers do not look for it.
fn beside_multipart(dir: &Path) {
    let (len, salt) = (100, [0xa1; 24]);
    let content = pattern(0, len);
    let part = salted(&salt, &context("part", &3_u16.to_be_bytes()), &content);
    let record = [record_head(2, 1, len), entry(3, len, &salt)].concat();
    let body = [&part[..], &tail(2, len, part.len(), &record)].concat();
    vector("md5-multipart", "beside a multipart object, of its content", "authentication")
        .with("header", &base64(&header(2, 2, 0)))
        .with("md5-entry", &base64(&sealed(&md5(&content))))
        .with_hex("body", &body)
        .write(dir);
}

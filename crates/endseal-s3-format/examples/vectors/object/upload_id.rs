//! Vectors of upload ids.

use std::path::Path;

use endseal_testing::Vector;

use super::{BUCKET, KEY, WRAPPING_KEY, base64, context, flipped, header, place, salted};

const SALT: [u8; 24] = [0x0d; 24];
pub(super) const BACKEND: &str = "2~backend-upload-id";

/// An upload id whose client announced no checksum.
pub(super) fn upload_id(version: u8, header: &[u8], place: &[u8], backend: &[u8]) -> Vec<u8> {
    announced(version, header, place, &[0, 0], backend)
}

fn announced(version: u8, header: &[u8], place: &[u8], checksum: &[u8], backend: &[u8]) -> Vec<u8> {
    let length = u16::try_from(header.len()).unwrap().to_be_bytes();
    let context = context("upload", &[header, place].concat());
    let sealed = salted(&SALT, &context, &[checksum, backend].concat());
    [&[version], &length[..], header, &sealed].concat()
}

pub(super) fn write(dir: &Path) {
    let vector = |scenario: &str, comment: &str, expect: &str, text: &str| {
        Vector::new(scenario, comment, expect)
            .with("kind", "upload-id")
            .with("bucket", BUCKET)
            .with("key", KEY)
            .with_hex("wrapping-key", &WRAPPING_KEY)
            .with("upload-id", text)
    };
    let here = place(2, BUCKET, KEY);
    let make = |version, header: &[u8], backend: &[u8]| upload_id(version, header, &here, backend);
    for (scenario, comment, binding) in [
        ("upload-id", "of an object bound to its key", 2),
        ("upload-id-unbound", "the object is bound to nothing, the upload id is", 0),
    ] {
        let text = base64(&make(1, &header(2, binding, 0), BACKEND.as_bytes()));
        vector(scenario, comment, "ok", &text)
            .with_json("demanded-binding", &binding.to_string())
            .with("backend-upload-id", BACKEND)
            .write(dir);
    }
    let head = header(2, 2, 0);
    let with_checksum =
        |checksum: &[u8]| base64(&announced(1, &head, &here, checksum, BACKEND.as_bytes()));
    for (scenario, comment, kind, of) in [
        ("upload-id-crc32", "CRC32 of the full object was announced", 1, 2),
        ("upload-id-crc32-composite", "a composite CRC32 was announced", 1, 1),
        ("upload-id-crc64nvme", "CRC64NVME was announced", 3, 2),
        ("upload-id-sha256", "SHA-256 was announced", 5, 1),
        ("upload-id-sha512", "SHA-512 was announced", 6, 1),
    ] {
        vector(scenario, comment, "ok", &with_checksum(&[kind, of]))
            .with_json("demanded-binding", "2")
            .with_json("checksum-kind", &kind.to_string())
            .with_json("checksum-type", &of.to_string())
            .with("backend-upload-id", BACKEND)
            .write(dir);
    }
    for (scenario, comment, checksum) in [
        ("upload-id-checksum-kind", "a checksum kind of 7", &[7, 1][..]),
        ("upload-id-checksum-type", "a checksum type of 3", &[1, 3]),
        ("upload-id-checksum-none", "a checksum kind without a type", &[1, 0]),
        ("upload-id-checksum-no-kind", "a checksum type without a kind", &[0, 1]),
        ("upload-id-sha256-full", "SHA-256 of the full object", &[5, 2]),
        ("upload-id-crc64nvme-composite", "a composite CRC64NVME", &[3, 1]),
    ] {
        vector(scenario, comment, "authentication", &with_checksum(checksum))
            .with_json("demanded-binding", "2")
            .write(dir);
    }
    let good = make(1, &head, BACKEND.as_bytes());
    // The object is bound to nothing, so that only the upload id identifies bucket and key.
    let unbound = header(2, 0, 0);
    let other = |bucket, key| upload_id(1, &unbound, &place(2, bucket, key), BACKEND.as_bytes());
    for (scenario, comment, bytes) in [
        ("upload-id-version", "version 2", make(2, &head, BACKEND.as_bytes())),
        ("upload-id-whole", "the header of a whole object", {
            make(1, &header(1, 2, 9), BACKEND.as_bytes())
        }),
        ("upload-id-other-key", "made for another key", other(BUCKET, "folder/key2")),
        ("upload-id-other-bucket", "made for another bucket", other("bucket2", KEY)),
        ("upload-id-boundary", "bucket and key run together", other("bucketfolder", "/key")),
        ("upload-id-flipped", "the sealed id flipped", flipped(&good, good.len() - 20)),
        ("upload-id-salt", "its salt flipped", flipped(&good, 3 + head.len())),
        ("upload-id-tag", "its tag flipped", flipped(&good, good.len() - 1)),
        ("upload-id-commitment", "the commitment flipped", flipped(&good, 3 + 40)),
        ("upload-id-key-id", "another key id in the header", flipped(&good, 3 + 101)),
        ("upload-id-cut", "a byte short", good[..good.len() - 1].to_vec()),
        ("upload-id-empty", "an empty backend's id", make(1, &head, b"")),
        ("upload-id-long", "a backend's id of 1,025 bytes", make(1, &head, &[b'i'; 1_025])),
        ("upload-id-text", "a backend's id that is no UTF-8", make(1, &head, &[0xff])),
        ("upload-id-header-cut", "the header is longer than all", flipped(&good, 1)),
        ("upload-id-header-alone", "no sealed id", good[..3 + head.len()].to_vec()),
        ("upload-id-nothing", "nothing", Vec::new()),
    ] {
        let demanded =
            if scenario.contains("other") || scenario.contains("boundary") { 0 } else { 2 };
        vector(scenario, comment, "authentication", &base64(&bytes))
            .with_json("demanded-binding", &demanded.to_string())
            .write(dir);
    }
    vector(
        "upload-id-padding",
        "padding behind it",
        "authentication",
        &format!("{}=", base64(&good)),
    )
    .write(dir);
}

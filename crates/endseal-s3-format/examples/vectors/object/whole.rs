//! Vectors of whole objects.

use std::path::Path;

use super::{
    COPY, KEY, base64, flipped, header, header_copy, record_head, replaced, tail, vector,
    whole_object, whole_object_with, with_copy,
};

pub(super) fn write(dir: &Path) {
    successes(dir);
    markers(dir);
    copies(dir);
    bodies(dir);
    tails(dir);
}

fn successes(dir: &Path) {
    for (scenario, comment, len) in [
        ("whole-empty", "no content", 0),
        ("whole-1", "one byte", 1),
        ("whole-16384", "a full chunk, and an empty one", 16_384),
        ("whole-16385", "a full chunk and a byte", 16_385),
    ] {
        vector(scenario, comment, "ok")
            .with("header", &base64(&header(1, 2, len)))
            .with_hex("body", &whole_object(len, &record_head(1, 0, len)))
            .with_json("plaintext-length", &len.to_string())
            .write(dir);
    }
    for (scenario, comment, binding) in [
        ("whole-binding-none", "bound to nothing", 0),
        ("whole-binding-bucket", "bound to the bucket", 1),
    ] {
        vector(scenario, comment, "ok")
            .with_json("demanded-binding", &binding.to_string())
            .with("header", &base64(&header(1, binding, 9)))
            .with_hex("body", &{
                whole_object_with(&header(1, binding, 9), 9, &record_head(1, 0, 9))
            })
            .with_json("plaintext-length", "9")
            .write(dir);
    }
    for (scenario, comment, kind, len) in [
        ("whole-crc32c", "with a CRC32C", 2_u8, 4),
        ("whole-crc64nvme", "with a CRC64NVME", 3, 8),
        ("whole-sha1", "with a SHA-1", 4, 20),
        ("whole-sha256", "with a SHA-256", 5, 32),
    ] {
        let checksum = vec![0xcc; len];
        let record = replaced(&record_head(1, 0, 9), 2, &[&[kind], &checksum[..]].concat());
        vector(scenario, comment, "ok")
            .with("header", &base64(&header(1, 2, 9)))
            .with_hex("body", &whole_object(9, &record))
            .with_json("plaintext-length", "9")
            .with_json("checksum-kind", &kind.to_string())
            .with_hex("checksum", &checksum)
            .write(dir);
    }
}

/// Writes folder markers. Their keys are bound to nothing here, because the vectors' wrapped key
/// belongs to another key.
fn markers(dir: &Path) {
    let marker = |scenario: &str, comment: &str, expect: &str, key: &str| {
        endseal_testing::Vector::new(scenario, comment, expect)
            .with("kind", "object")
            .with("bucket", super::BUCKET)
            .with("key", key)
            .with_hex("wrapping-key", &super::WRAPPING_KEY)
            .with_json("demanded-binding", "0")
            .with_hex("body", &[])
    };
    marker("marker", "a folder marker", "ok", "folder/")
        .with("header", &base64(&header(1, 0, 0)))
        .with_json("plaintext-length", "0")
        .write(dir);
    for (scenario, comment, key, header) in [
        ("marker-key", "no body at a key without a slash at its end", KEY, header(1, 0, 0)),
        ("marker-length", "no body, and a length of 1", "folder/", header(1, 0, 1)),
        ("marker-multipart", "no body of a multipart object", "folder/", header(2, 0, 0)),
        ("marker-commitment", "the commitment flipped", "folder/", flipped(&header(1, 0, 0), 40)),
    ] {
        marker(scenario, comment, "authentication", key)
            .with("header", &base64(&header))
            .write(dir);
    }
}

/// Writes objects whose copy of the header differs from the header.
fn copies(dir: &Path) {
    let good = whole_object(9, &record_head(1, 0, 9));
    let head = header(1, 2, 9);
    let copy = |head: &[u8]| whole_object_with(head, 9, &record_head(1, 0, 9));
    let end = good.len();
    for (scenario, comment, body) in [
        ("copy-place", "of another place", copy(&flipped(&head, 68))),
        ("copy-binding", "with another binding", copy(&header(1, 0, 9))),
        ("copy-wrapped", "with another wrapped key", copy(&flipped(&head, 119))),
        ("copy-key-id", "with another key id", copy(&replaced(&head, 101, b"former"))),
    ] {
        vector(scenario, comment, "ok")
            .with("header", &base64(&head))
            .with_hex("body", &body)
            .with_json("plaintext-length", "9")
            .write(dir);
    }
    for (scenario, comment, body) in [
        ("copy-version", "of version 2", copy(&replaced(&head, 0, &[2]))),
        ("copy-form", "of a multipart object", copy(&header(2, 2, 0))),
        ("copy-length", "of another length", copy(&header(1, 2, 10))),
        ("copy-salt", "with another salt", copy(&flipped(&head, 12))),
        ("copy-commitment", "with another commitment", copy(&flipped(&head, 36))),
        ("copy-cut", "a byte short", copy(&head[..head.len() - 1])),
        ("copy-longer", "with a byte behind it", copy(&[&head[..], &[0]].concat())),
        ("copy-exchanged", "of another place, and not the record's", {
            with_copy(&good, &header_copy(&flipped(&head, 68)))
        }),
        ("copy-wrapped-flipped", "the wrapped key flipped", flipped(&good, end - COPY + 119)),
        ("copy-behind", "the last byte of the zeros is 1", flipped(&good, end - 11)),
        ("copy-length-max", "the length is 65,535", replaced(&good, end - 10, &[0xff; 2])),
        ("copy-magic", "the magic flipped", flipped(&good, end - 8)),
        ("copy-magic-version", "version 0 in the magic", flipped(&good, end - 1)),
        ("copy-zeros", "zeros", with_copy(&good, &[0; COPY])),
    ] {
        vector(scenario, comment, "authentication")
            .with("header", &base64(&head))
            .with_hex("body", &body)
            .write(dir);
    }
}

fn bodies(dir: &Path) {
    let len = 16_385;
    let good = whole_object(len, &record_head(1, 0, len));
    let text = base64(&header(1, 2, len));
    let (chunk, last, behind) = (&good[..16_400], &good[16_400..16_417], &good[16_417..]);
    // The end of the record. The copy of the header is behind it.
    let end = good.len() - COPY;
    for (scenario, comment, body) in [
        ("body-first-byte", "the first byte flipped", flipped(&good, 0)),
        ("body-tag", "a tag flipped", flipped(&good, 16_399)),
        ("body-last-chunk", "the last chunk flipped", flipped(&good, 16_400)),
        ("body-pad", "the first byte of the pad is 1", flipped(&good, 16_417)),
        ("body-pad-last", "the last byte of the pad is 1", flipped(&good, end - 93)),
        ("body-tail-salt", "the tail's salt flipped", flipped(&good, end - 92)),
        ("body-record", "the record flipped", flipped(&good, end - 60)),
        ("body-record-tag", "the record's tag flipped", flipped(&good, end - 5)),
        ("body-length-0", "length is 0", replaced(&good, end - 4, &[0; 4])),
        ("body-length-89", "length is 89", replaced(&good, end - 4, &[0, 0, 0, 89])),
        ("body-length-120", "length of one entry", replaced(&good, end - 4, &[0, 0, 0, 120])),
        ("body-length-max", "length is 2^32 - 1", replaced(&good, end - 4, &[0xff; 4])),
        ("body-cut", "the last byte is missing", good[..good.len() - 1].to_vec()),
        ("body-cut-copy", "the copy of the header is missing", good[..end].to_vec()),
        ("body-cut-chunk", "cut behind the first chunk", chunk.to_vec()),
        ("body-no-tail", "no tail", good[..16_417].to_vec()),
        ("body-longer", "a byte behind it", [&good[..], &[0]].concat()),
        ("body-chunk-dropped", "the first chunk is missing", good[16_400..].to_vec()),
        ("body-chunk-twice", "the first chunk twice", [chunk, &good].concat()),
        ("body-chunks-swapped", "last chunk first", [last, chunk, behind].concat()),
        ("body-empty", "nothing", Vec::new()),
    ] {
        vector(scenario, comment, "authentication")
            .with("header", &text)
            .with_hex("body", &body)
            .write(dir);
    }
    // T of the backend's length is right, but it is that of another content.
    vector("body-shorter-content", "the body of 9 bytes under the header of 10", "authentication")
        .with("header", &base64(&header(1, 2, 10)))
        .with_hex("body", &whole_object(9, &record_head(1, 0, 9)))
        .write(dir);
    let other = format!("{KEY}2");
    for (scenario, comment, bucket, key, demanded) in [
        ("place-key", "under another key of the bucket", "bucket", other.as_str(), 2),
        ("place-bucket", "in another bucket", "bucket2", KEY, 2),
        ("place-boundary", "bucket and key run together", "bucketfolder", "/key", 2),
    ] {
        endseal_testing::Vector::new(scenario, comment, "authentication")
            .with("kind", "object")
            .with("bucket", bucket)
            .with("key", key)
            .with_hex("wrapping-key", &super::WRAPPING_KEY)
            .with_json("demanded-binding", &demanded.to_string())
            .with("header", &base64(&header(1, 2, 9)))
            .with_hex("body", &whole_object(9, &record_head(1, 0, 9)))
            .write(dir);
    }
    for (binding, demanded) in [(0, 1), (0, 2), (1, 2)] {
        let scenario = format!("place-binding-{binding}-for-{demanded}");
        vector(&scenario, "a lower binding than the reader demands", "authentication")
            .with_json("demanded-binding", &demanded.to_string())
            .with("header", &base64(&header(1, binding, 9)))
            .with_hex("body", &whole_object(9, &record_head(1, 0, 9)))
            .write(dir);
    }
}

/// Writes records that are sealed as they are, so that only the field is wrong.
fn tails(dir: &Path) {
    let good = record_head(1, 0, 9);
    let with = |at, field: &[u8]| replaced(&good, at, field);
    let body = whole_object(9, &good)[..25].to_vec();
    for (scenario, comment, record) in [
        ("record-version-0", "version 0", with(0, &[0])),
        ("record-version-2", "version 2", with(0, &[2])),
        ("record-form-2", "the form of multipart objects", with(1, &[2])),
        ("record-checksum-kind-6", "an unknown checksum kind", with(2, &[6])),
        ("record-checksum-none", "a checksum of kind 0", with(3, &[1])),
        ("record-checksum-behind", "a byte behind a CRC32", with(2, &[1, 9, 9, 9, 9, 1])),
        ("record-flag-2", "an unknown flag", with(35, &[2])),
        ("record-composite-none", "composite without a checksum", with(35, &[1])),
        (
            "record-composite-whole",
            "composite without parts",
            with(2, &{
                let mut fields = [0; 34];
                (fields[0], fields[1], fields[33]) = (1, 9, 1);
                fields
            }),
        ),
        ("record-parts-1", "a part without an entry", with(36, &[0, 0, 0, 1])),
        ("record-length-8", "another P", with(47, &[8])),
        ("record-cut", "47 bytes", good[..47].to_vec()),
        ("record-longer", "49 bytes", [&good[..], &[0]].concat()),
        ("record-empty", "nothing", Vec::new()),
    ] {
        vector(scenario, comment, "authentication")
            .with("header", &base64(&header(1, 2, 9)))
            .with_hex("body", &[&body[..], &tail(1, 9, 25, &record)].concat())
            .write(dir);
    }
    vector("record-context", "sealed as that of a multipart object", "authentication")
        .with("header", &base64(&header(1, 2, 9)))
        .with_hex("body", &[&body[..], &tail(2, 9, 25, &good)].concat())
        .write(dir);
}

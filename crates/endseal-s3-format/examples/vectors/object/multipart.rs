//! Vectors of multipart objects.

use std::path::Path;

use endseal_crypto::hash;
use endseal_testing::Vector;

use super::{
    COPY, MIN, base64, context, entry, flipped, header, header_copy, part_json, pattern,
    record_head, replaced, salted, tail, vector, with_copy,
};

const NONE: [u8; 24] = [0; 24];

/// A part of an object: number, start of its content in the pattern, length and salt.
#[derive(Clone, Copy)]
struct Part(u16, u64, u64, [u8; 24]);

const fn salt(n: u8) -> [u8; 24] {
    [n; 24]
}

impl Part {
    fn sealed(&self) -> Vec<u8> {
        let Self(number, start, len, salt) = self;
        salted(salt, &context("part", &number.to_be_bytes()), &pattern(*start, *len))
    }

    fn entry(&self) -> Vec<u8> {
        entry(self.0, self.2, &self.3)
    }

    fn unbound(&self) -> Vec<u8> {
        entry(self.0, self.2, &NONE)
    }
}

fn record(entries: &[Vec<u8>], plaintext_len: u64) -> Vec<u8> {
    let head = record_head(2, u32::try_from(entries.len()).unwrap(), plaintext_len);
    [head, entries.concat()].concat()
}

fn multipart(scenario: &str, comment: &str, expect: &str) -> Vector {
    vector(scenario, comment, expect).with("header", &base64(&header(2, 2, 0)))
}

pub(super) fn write(dir: &Path) {
    short(dir);
    records(dir);
    long(dir);
}

/// Writes objects of one part, which are short enough for a file.
fn short(dir: &Path) {
    let part = Part(3, 0, 100, salt(0xa1));
    let body = part.sealed();
    let object = |record: &[u8], body: &[u8]| [body, &tail(2, 100, body.len(), record)].concat();
    let bound = record(&[part.entry()], 100);
    let unbound = record(&[part.unbound()], 100);
    let ok = |scenario: &str, comment: &str, record: &[u8], len: u64| {
        multipart(scenario, comment, "ok")
            .with_hex("body", &object(record, &body))
            .with_json("plaintext-length", &len.to_string())
    };
    ok("multipart-short", "one part of 100 bytes", &bound, 100).write(dir);
    ok("multipart-short-unbound", "its salt is not bound", &unbound, 100).write(dir);
    let crc = replaced(&bound, 2, &[1, 0xcc, 0xcc, 0xcc, 0xcc]);
    for (scenario, comment, composite) in [
        ("multipart-checksum", "with a CRC32 of all of the content", 0),
        ("multipart-composite", "with a CRC32 of the parts' checksums", 1),
    ] {
        ok(scenario, comment, &replaced(&crc, 35, &[composite]), 100)
            .with_json("checksum-kind", "1")
            .with_hex("checksum", &[0xcc; 4])
            .with_json("composite", if composite == 1 { "true" } else { "false" })
            .write(dir);
    }
    let empty = Part(10_000, 0, 0, salt(0xa2));
    let record_of_empty = record(&[empty.entry()], 0);
    let sealed = empty.sealed();
    multipart("multipart-empty", "part 10,000 without content", "ok")
        .with_hex("body", &[&sealed[..], &tail(2, 0, sealed.len(), &record_of_empty)].concat())
        .with_json("plaintext-length", "0")
        .write(dir);

    let good = object(&bound, &body);
    let other_upload = Part(3, 0, 100, salt(0xa9)).sealed();
    let other_number = Part(4, 0, 100, salt(0xa1)).sealed();
    // The end of the record. The copy of the header is behind it.
    let end = good.len() - COPY;
    for (scenario, comment, body) in [
        ("part-salt", "the part's salt flipped", flipped(&good, 0)),
        ("part-salt-unbound", "the same, not bound", flipped(&object(&unbound, &body), 0)),
        ("part-chunk", "the part's chunk flipped", flipped(&good, 24)),
        ("part-tag", "its tag flipped", flipped(&good, 139)),
        ("part-other-upload", "an earlier upload of the part", object(&bound, &other_upload)),
        ("part-other-number", "sealed under another number", object(&bound, &other_number)),
        ("part-other-number-unbound", "the same, not bound", object(&unbound, &other_number)),
        ("multipart-pad", "the pad is not zero", flipped(&good, 140)),
        ("multipart-pad-last", "its last byte is not zero", flipped(&good, end - 125)),
        ("multipart-length-88", "length of no entry", replaced(&good, end - 4, &[0, 0, 0, 88])),
        ("multipart-length-152", "length of two", replaced(&good, end - 4, &[0, 0, 0, 152])),
        ("multipart-cut", "the last byte is missing", good[..good.len() - 1].to_vec()),
        ("multipart-copy-salt", "a copy of the header with another salt", {
            flipped(&good, end + 12)
        }),
        ("multipart-copy-form", "a copy of the header of a whole object", {
            with_copy(&good, &header_copy(&header(1, 2, 100)))
        }),
        ("multipart-no-tail", "no tail", good[..140].to_vec()),
        ("multipart-tail-alone", "the tail alone", good[140..].to_vec()),
    ] {
        multipart(scenario, comment, "authentication").with_hex("body", &body).write(dir);
    }
    vector("multipart-shown-as-whole", "under the header of a whole object", "authentication")
        .with("header", &base64(&header(1, 2, 100)))
        .with_hex("body", &good)
        .write(dir);
}

/// Writes records that are sealed as they are, so that only the field is wrong.
fn records(dir: &Path) {
    let part = Part(3, 0, 100, salt(0xa1));
    let body = part.sealed();
    let good = record(&[part.entry()], 100);
    let with = |at, field: &[u8]| replaced(&good, at, field);
    let most = (1_u64 << 48) - 1;
    for (scenario, comment, record) in [
        ("entry-none", "no part", record_head(2, 0, 100)),
        ("entry-missing", "a part without an entry", record_head(2, 1, 100)),
        ("entry-parts-0", "an entry that is not counted", with(36, &[0; 4])),
        ("entry-parts-max", "2^32 - 1 parts", with(36, &[0xff; 4])),
        ("entry-number-0", "part 0", with(48, &[0, 0])),
        ("entry-number-10001", "part 10,001", with(48, &[0x27, 0x11])),
        ("entry-length-99", "the part is 99 bytes long", with(55, &[99])),
        ("entry-length-max", "2^48 - 1 bytes", with(50, &most.to_be_bytes()[2..])),
        ("entry-sum", "the lengths and P are 101", { replaced(&with(55, &[101]), 47, &[101]) }),
        ("entry-form-1", "the form of whole objects", with(1, &[1])),
        ("entry-cut", "the entry is a byte short", good[..79].to_vec()),
        ("entry-behind", "a byte behind the entry", [&good[..], &[0]].concat()),
    ] {
        multipart(scenario, comment, "authentication")
            .with_hex("body", &[&body[..], &tail(2, 100, body.len(), &record)].concat())
            .write(dir);
    }
}

/// Writes objects of two parts, which the vector describes how to seal.
fn long(dir: &Path) {
    let first = Part(1, 0, MIN + 5, salt(0xb1));
    let last = Part(7, MIN + 5, 1_000, salt(0xb7));
    let all = MIN + 1_005;
    let body_len = first.sealed().len() + last.sealed().len();
    let written = |scenario: &str, comment: &str, expect: &str, parts: &[Part], tail: &[u8]| {
        let json = |part: &Part| part_json(part.0, part.1, part.2, &part.3);
        let list: Vec<String> = parts.iter().map(|part| format!("    {}", json(part))).collect();
        let body: Vec<u8> = parts.iter().flat_map(Part::sealed).chain(tail.to_vec()).collect();
        multipart(scenario, comment, expect)
            .with_json("parts", &format!("[\n{}\n  ]", list.join(",\n")))
            .with_hex("tail", tail)
            .with_hex("body-blake3", &hash::digest(&body))
    };
    let of = |entries: &[Vec<u8>]| tail(2, all, body_len, &record(entries, all));
    let tail_of = |parts: &[Part]| of(&parts.iter().map(Part::entry).collect::<Vec<_>>());
    let good = tail_of(&[first, last]);
    for (scenario, comment, tail) in [
        ("multipart-two", "parts 1 and 7", &good),
        ("multipart-two-unbound", "no salt is bound", &of(&[first.unbound(), last.unbound()])),
        ("multipart-two-half", "one salt is bound", &of(&[first.unbound(), last.entry()])),
    ] {
        written(scenario, comment, "ok", &[first, last], tail)
            .with_json("plaintext-length", &all.to_string())
            .write(dir);
    }
    let earlier = Part(7, MIN + 5, 1_000, salt(0xb8));
    let small = Part(1, 0, MIN - 1, salt(0xb1));
    let rest = Part(7, MIN - 1, 1_006, salt(0xb7));
    for (scenario, comment, parts, tail) in [
        ("two-swapped", "the parts swapped", [last, first], good.clone()),
        (
            "two-first-twice",
            "the first part in the place of the last too",
            [first, first],
            good.clone(),
        ),
        ("two-earlier-upload", "an earlier upload of part 7", [first, earlier], good.clone()),
        ("two-older-record", "the record of an earlier upload", [first, last], {
            tail_of(&[first, earlier])
        }),
        ("two-order", "the entries swapped", [first, last], tail_of(&[last, first])),
        ("two-same-number", "both are part 1", [first, last], {
            of(&[first.entry(), entry(1, 1_000, &salt(0xb7))])
        }),
        ("two-small", "a part below 5 MiB before another", [small, rest], {
            let body_len = small.sealed().len() + rest.sealed().len();
            tail(2, all, body_len, &record(&[small.entry(), rest.entry()], all))
        }),
        ("two-lengths", "the lengths moved between the parts", [first, last], {
            of(&[entry(1, MIN + 4, &salt(0xb1)), entry(7, 1_001, &salt(0xb7))])
        }),
        ("two-one-entry", "one entry for both", [first, last], of(&[entry(1, all, &salt(0xb1))])),
    ] {
        written(scenario, comment, "authentication", &parts, &tail).write(dir);
    }
}

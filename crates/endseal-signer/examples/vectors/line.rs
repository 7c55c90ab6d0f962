//! Vectors of single lines of the log.

use std::path::Path;

use endseal_crypto::sha256;

use crate::kind::{Kind, text8};
use crate::records::NOW;

/// Encodes the body of a line of kind `matter` with this text.
pub(crate) fn body(number: u64, matter: u8, text: &str) -> Vec<u8> {
    [
        &[1][..],
        &number.to_le_bytes(),
        &(NOW + number).to_le_bytes(),
        &[matter],
        &5_u32.to_le_bytes(),
        &3_u32.to_le_bytes(),
        &[1, 2],
        &1_u32.to_le_bytes(),
        &[10; 32],
        &[11; 32],
        &[12; 32],
        &[13; 32],
        &(NOW - 1).to_le_bytes(),
        &text8(text),
    ]
    .concat()
}

/// Computes the hash of a line from the previous hash.
pub(crate) fn hash(before: &[u8; 32], body: &[u8]) -> [u8; 32] {
    sha256::digest(&[b"endseal signer log 1", &before[..], body].concat())
}

pub(crate) fn write(dir: &Path) {
    let value = |body: &[u8]| [&hash(&[9; 32], body)[..], body].concat();
    let name = 4_u64.to_be_bytes().to_vec();
    let kind = Kind { dir, kind: "line", name, value: value(&body(4, 1, "phone")) };
    let (time, created_at) = ((NOW + 4).to_string(), (NOW - 1).to_string());
    let fields = |matter, kind, text| {
        let numbers = [("number", "4"), ("time", time.as_str()), ("matter", matter), ("app", "5")];
        let more = [("rule", "3"), ("verdict", "1"), ("method", "2"), ("event_kind", kind)];
        let carrier = [("created_at", created_at.as_str()), ("text", text)];
        [&numbers[..], &more, &carrier].concat()
    };
    kind.ok("signed", "kind 1 was signed", &kind.value, &fields("1", "1", "\"phone\""));
    let none = kind.with(32 + 28, &[0xff; 4]);
    kind.ok("no-kind", "there is no kind", &none, &fields("1", "null", "\"phone\""));
    let longest = "t".repeat(255);
    let quoted = format!("\"{longest}\"");
    let long = value(&body(4, 4, &longest));
    kind.ok("longest-text", "a rule was added", &long, &fields("4", "1", &quoted));
    let archived = value(&body(4, 17, "3"));
    kind.ok("last-matter", "lines were archived", &archived, &fields("17", "1", "\"3\""));
    kind.lengths();
    kind.version(32);
    kind.refused("no-body", "there is a hash alone", "length", &kind.value[..32]);
    kind.refused_name("another-name", "the name is 5", "value", &5_u64.to_be_bytes());
    let zero = Kind { name: vec![0; 8], value: value(&body(0, 1, "phone")), ..kind };
    zero.refused("number-0", "number 0", "value", &zero.value);
    let kind = Kind { name: 4_u64.to_be_bytes().to_vec(), value: value(&body(4, 1, "é")), ..zero };
    for (what, comment, at, bytes) in [
        ("matter-0", "matter 0", 17, &[0][..]),
        ("matter-18", "matter 18", 17, &[18]),
        ("verdict-7", "verdict 7", 26, &[7]),
        ("method-12", "method 12", 27, &[12]),
        ("kind-65536", "kind 65536", 28, &65_536_u32.to_le_bytes()),
        ("not-utf-8", "the text is not UTF-8", 169, &[0xff]),
    ] {
        kind.refused(what, comment, "value", &kind.with(32 + at, bytes));
    }
}

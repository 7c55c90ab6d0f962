//! Vectors of encrypted user metadata.

use std::path::Path;

use super::{
    METADATA_SALT, base64, context, flipped, header, place_tag, record_head, salted, vector,
    whole_object,
};

fn fields(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for field in entries.iter().flat_map(|(name, value)| [name.as_bytes(), value]) {
        out.extend(u16::try_from(field.len()).unwrap().to_be_bytes());
        out.extend(field);
    }
    out
}

fn sealed(plain: &[u8]) -> Vec<u8> {
    salted(&METADATA_SALT, &context("metadata", &place_tag(2)), plain)
}

pub(super) fn write(dir: &Path) {
    let object = |scenario, comment, expect, metadata: &str| {
        vector(scenario, comment, expect)
            .with("header", &base64(&header(1, 2, 9)))
            .with("metadata", metadata)
            .with_hex("body", &whole_object(9, &record_head(1, 0, 9)))
            .with_json("plaintext-length", "9")
    };
    let good = sealed(&fields(&[("author", b"Ann"), ("mtime", b"1.5")]));
    object("metadata", "two entries", "ok", &base64(&good))
        .with_json("user-metadata", "{\"author\": \"Ann\", \"mtime\": \"1.5\"}")
        .write(dir);
    object("metadata-empty", "none", "ok", &base64(&sealed(&[])))
        .with_json("user-metadata", "{}")
        .write(dir);
    for (scenario, comment, bytes) in [
        ("metadata-flipped", "flipped", flipped(&good, 30)),
        ("metadata-salt", "its salt flipped", flipped(&good, 0)),
        ("metadata-cut", "cut", good[..good.len() - 1].to_vec()),
        ("metadata-order", "names that fall", sealed(&fields(&[("b", b""), ("a", b"")]))),
        ("metadata-twice", "a name twice", sealed(&fields(&[("a", b""), ("a", b"")]))),
        ("metadata-case", "upper case", sealed(&fields(&[("A", b"")]))),
        ("metadata-no-name", "an empty name", sealed(&fields(&[("", b"v")]))),
        ("metadata-reserved", "a name of the format", sealed(&fields(&[("endseal", b"v")]))),
        ("metadata-line", "a line break in a value", sealed(&fields(&[("a", b"\n")]))),
        ("metadata-half", "a name without a value", sealed(b"\0\x01a")),
        ("metadata-value-cut", "a value cut", sealed(b"\0\x01a\0\x02v")),
        ("metadata-place", "of another place", {
            salted(&METADATA_SALT, &context("metadata", &place_tag(1)), &fields(&[("a", b"")]))
        }),
        ("metadata-no-place", "of no place", {
            salted(&METADATA_SALT, &context("metadata", &[]), &fields(&[("a", b"")]))
        }),
        ("metadata-context", "sealed as a body", {
            salted(&METADATA_SALT, &context("body", &[1]), &fields(&[("a", b"")]))
        }),
    ] {
        object(scenario, comment, "authentication", &base64(&bytes)).write(dir);
    }
    let padded = format!("{}=", base64(&good));
    object("metadata-padding", "padding behind it", "authentication", &padded).write(dir);
}

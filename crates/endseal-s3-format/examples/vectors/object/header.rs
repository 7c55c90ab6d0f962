//! Vectors of headers that must be refused. Their objects would open otherwise.

use std::path::Path;

use super::{base64, flipped, header, record_head, replaced, vector, whole_object};

pub(super) fn write(dir: &Path) {
    let good = header(1, 2, 9);
    let with = |at, field: &[u8]| replaced(&good, at, field);
    // The fields from version to commitment, then the key id and the wrapped key, each with its
    // length.
    let (fixed, wrapped) = (&good[..100], &good[107..]);
    let key_id = |id: &[u8]| [fixed, &[u8::try_from(id.len()).unwrap()], id, wrapped].concat();
    let multipart = header(2, 2, 0);
    for (scenario, comment, bytes) in [
        ("header-version-0", "version 0", with(0, &[0])),
        ("header-version-2", "version 2", with(0, &[2])),
        ("header-form-0", "form 0", with(1, &[0])),
        ("header-form-2", "a whole object shown as a multipart one", with(1, &[2])),
        ("header-form-3", "form 3", with(1, &[3])),
        ("header-binding-1", "another binding than that of the place tag", with(2, &[1])),
        ("header-binding-3", "binding 3", with(2, &[3])),
        ("header-flags-1", "another flag than that of the place tag", with(3, &[1])),
        ("header-flags-2", "an unknown flag", with(3, &[2])),
        ("header-length-8", "another length", with(11, &[8])),
        ("header-length-most", "5 TiB and a byte", with(4, &((5_u64 << 40) + 1).to_be_bytes())),
        ("header-length-multipart", "a multipart object with a length", flipped(&multipart, 11)),
        ("header-salt", "the salt flipped", flipped(&good, 12)),
        ("header-commitment", "the commitment flipped", flipped(&good, 36)),
        ("header-commitment-last", "its last byte flipped", flipped(&good, 67)),
        ("header-place-tag", "the place tag flipped", flipped(&good, 68)),
        ("header-place-tag-last", "its last byte flipped", flipped(&good, 99)),
        ("header-key-id-empty", "no key id", key_id(b"")),
        ("header-key-id-case", "a key id in upper case", key_id(b"Vector")),
        ("header-key-id-slash", "a slash in the key id", key_id(b"vec/or")),
        ("header-key-id-long", "a key id of 65 bytes", key_id(&[b'v'; 65])),
        ("header-key-id-cut", "a key id beyond the end", with(100, &[250])),
        ("header-wrapped-empty", "no wrapped key", [&good[..107], &[0, 0]].concat()),
        ("header-wrapped-flipped", "the wrapped key flipped", flipped(&good, 119)),
        ("header-wrapped-tag", "its tag flipped", flipped(&good, good.len() - 1)),
        ("header-wrapped-cut", "the wrapped key a byte short", good[..good.len() - 1].to_vec()),
        ("header-wrapped-long", "a wrapped key of 513 bytes", {
            [&good[..107], &[2, 1], &[1; 513]].concat()
        }),
        ("header-longer", "a byte behind it", [&good[..], &[0]].concat()),
        ("header-cut", "all up to the place tag", fixed.to_vec()),
        ("header-empty", "nothing", Vec::new()),
    ] {
        vector(scenario, comment, "authentication")
            .with("header", &base64(&bytes))
            .with_hex("body", &whole_object(9, &record_head(1, 0, 9)))
            .write(dir);
    }
    let text = base64(&good);
    for (scenario, comment, text) in [
        ("header-text-padding", "padding behind it", format!("{text}=")),
        ("header-text-alphabet", "the alphabet of base64", format!("{}+", &text[..text.len() - 1])),
        ("header-text-blank", "a blank before it", format!(" {text}")),
        ("header-text-bits", "bits set behind the last byte", {
            let mut longer = header(1, 2, 9);
            // A wrapped key of 61 bytes would end in a character with two unused bits.
            longer.push(0);
            let text = base64(&longer);
            assert!(longer.len() % 3 == 2 && text.ends_with('A'));
            format!("{}B", &text[..text.len() - 1])
        }),
    ] {
        vector(scenario, comment, "authentication")
            .with("header", &text)
            .with_hex("body", &whole_object(9, &record_head(1, 0, 9)))
            .write(dir);
    }
}

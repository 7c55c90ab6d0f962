//! Vectors of encrypted names.

use std::path::Path;

use endseal_crypto::aes_siv::{self, SivKey};
use endseal_crypto::hkdf;
use endseal_testing::Vector;

use super::{BUCKET, base64, context};

const SECRET: [u8; 32] = [0x5e; 32];

fn name_key(bucket: &str) -> SivKey {
    let info = context("names", bucket.as_bytes());
    SivKey::try_init_with(|key| hkdf::expand(&SECRET, &[&info], key)).unwrap()
}

/// Returns the encrypted name of a component in a folder, which is encrypted already.
fn component(bucket: &str, folder: &str, name: &[u8]) -> String {
    base64(&aes_siv::seal(&name_key(bucket), folder.as_bytes(), name))
}

pub(super) fn write(dir: &Path) {
    let vector = |scenario: &str, comment: &str, expect: &str, sealed: &str| {
        Vector::new(scenario, comment, expect)
            .with("kind", "name")
            .with("bucket", BUCKET)
            .with_hex("name-secret", &SECRET)
            .with("sealed-key", sealed)
    };
    let folder = format!("{}/", component(BUCKET, "", b"folder"));
    let key = format!("{folder}{}", component(BUCKET, &folder, b"key"));
    let behind_empty = format!("/{}", component(BUCKET, "/", b"key"));
    for (scenario, comment, sealed, plain) in [
        ("name", "a key with two components", key.as_str(), "folder/key"),
        ("name-folder", "a prefix", &folder, "folder/"),
        ("name-empty-component", "an empty component stays empty", &behind_empty, "/key"),
        ("name-slash", "nothing but a slash", "/", "/"),
    ] {
        vector(scenario, comment, "ok", sealed).with("key", plain).write(dir);
    }
    let (first, last) = key.split_once('/').unwrap();
    for (scenario, comment, sealed) in [
        ("name-flipped", "a character changed", {
            let other = if key.ends_with('A') { "E" } else { "A" };
            format!("{}{other}", &key[..key.len() - 1])
        }),
        ("name-moved", "a component in another folder", last.to_owned()),
        ("name-swapped", "the components swapped", format!("{last}/{first}")),
        ("name-folder-twice", "a folder in itself", format!("{first}/{first}")),
        ("name-other-bucket", "encrypted for another bucket", component("bucket2", "", b"folder")),
        ("name-of-nothing", "an empty component that was encrypted", component(BUCKET, "", b"")),
        ("name-with-slash", "a component with a slash", component(BUCKET, "", b"a/b")),
        ("name-no-text", "a component that is no UTF-8", component(BUCKET, "", b"\xff")),
        ("name-padding", "padding behind it", format!("{first}=")),
        ("name-cut", "a component of 15 bytes", "A".repeat(20)),
        ("name-plain", "not encrypted", "folder/key".to_owned()),
    ] {
        vector(scenario, comment, "authentication", &sealed).write(dir);
    }
}

//! Vectors of docs/spec/nostr.md: four files, each a list of cases.
//!
//! Everything is built by hand here, byte by byte, and not by the code that the vectors test. Only
//! the primitives come from `endseal-crypto`.

#[path = "encryption/case.rs"]
mod case;
#[path = "encryption/encrypted_key.rs"]
mod encrypted_key;
#[path = "encryption/gift_wrap.rs"]
mod gift_wrap;
#[path = "encryption/nip04.rs"]
mod nip04;
#[path = "encryption/nip44.rs"]
mod nip44;

use std::fs;
use std::path::Path;

pub(crate) fn write(folder: &Path) {
    let folder = folder.join("nostr");
    fs::create_dir_all(&folder).unwrap();
    for (name, cases) in [
        ("nip44", nip44::cases()),
        ("nip04", nip04::cases()),
        ("gift-wrap", gift_wrap::cases()),
        ("encrypted-key", encrypted_key::cases()),
    ] {
        fs::write(folder.join(name).with_extension("json"), case::array(&cases)).unwrap();
    }
}

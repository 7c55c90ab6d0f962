//! The committed header is the one that belongs to the functions.
#![forbid(unsafe_code)]

use std::path::Path;
use std::{env, fs};

/// With ENDSEAL_WRITE=1 the header is written, otherwise compared.
#[test]
fn the_header_is_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let mut written = Vec::new();
    let made = cbindgen::Builder::new().with_crate(folder).with_config(config).generate();
    made.unwrap().write(&mut written);
    let header = folder.join("include/endseal.h");
    if env::var_os("ENDSEAL_WRITE").is_some() {
        fs::write(&header, &written).unwrap();
    }
    let committed = fs::read(&header).unwrap_or_default();
    assert!(committed == written, "run ENDSEAL_WRITE=1 cargo test --test header");
}

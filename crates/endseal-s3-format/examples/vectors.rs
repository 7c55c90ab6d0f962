//! Writes the test vectors of docs/spec/s3-object.md:
//! `cargo run -p endseal-s3-format --example endseal-s3-format-vectors -- vectors`.
//!
//! Everything is built by hand here, byte by byte, and not by the code that the vectors test. Only
//! chunks, key wrapping and digests come from libraries.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a generator that fails may stop")]

#[path = "vectors/object.rs"]
mod object;

use std::env;
use std::path::PathBuf;

fn main() {
    let dir = PathBuf::from(env::args_os().nth(1).expect("usage: vectors <directory>"));
    object::write(&dir.join("s3-object"));
}

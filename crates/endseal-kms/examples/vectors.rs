//! Writes the test vectors of docs/spec/s3-key-ring.md:
//! `cargo run -p endseal-kms --example endseal-kms-vectors -- vectors`.
//!
//! Everything is built by hand here, byte by byte, and not by the code that the vectors test. Only
//! chunks, key wrapping and digests come from libraries.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a generator that fails may stop")]

#[path = "vectors/key_ring.rs"]
mod key_ring;

use std::env;
use std::path::PathBuf;

fn main() {
    let dir = PathBuf::from(env::args_os().nth(1).expect("usage: vectors <directory>"));
    key_ring::write(&dir.join("s3-key-ring"));
}

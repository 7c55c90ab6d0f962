//! Writes the test vectors of docs/spec/signer.md:
//! `cargo run -p endseal-signer --example endseal-signer-vectors -- vectors`.
//!
//! Records are encoded by hand here, byte by byte, and not by the code that the vectors test. Only
//! keys, digests and the encrypted key come from the libraries.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a generator that fails may stop")]

#[path = "vectors/chain.rs"]
mod chain;
#[path = "vectors/kind.rs"]
mod kind;
#[path = "vectors/line.rs"]
mod line;
#[path = "vectors/records.rs"]
mod records;

use std::env;
use std::path::PathBuf;

fn main() {
    let dir = PathBuf::from(env::args_os().nth(1).expect("usage: vectors <directory>"));
    let dir = dir.join("signer");
    records::write(&dir);
    line::write(&dir);
    chain::write(&dir);
}

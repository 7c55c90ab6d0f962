//! Writes the test vectors of docs/spec/codec.md and docs/spec/frame.md:
//! `cargo run -p endseal-codec --example endseal-codec-vectors -- vectors`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a generator that fails may stop"
)]

#[path = "vectors/accepted.rs"]
mod accepted;
#[path = "vectors/json.rs"]
mod json;
#[path = "vectors/live.rs"]
mod live;
#[path = "vectors/mapping.rs"]
mod mapping;
#[path = "vectors/ml_dsa.rs"]
mod ml_dsa;
#[path = "vectors/raw.rs"]
mod raw;
#[path = "vectors/refused.rs"]
mod refused;
#[path = "vectors/samples.rs"]
mod samples;
#[path = "vectors/stored.rs"]
mod stored;

use std::env;
use std::path::PathBuf;

fn main() {
    let dir = PathBuf::from(env::args_os().nth(1).expect("usage: vectors <directory>"));
    accepted::write(&dir.join("codec"));
    refused::write(&dir.join("codec"));
    live::write(&dir.join("frame"));
    stored::write(&dir.join("frame"));
}

//! Writes the test vectors of docs/spec/nostr.md, nostr-events.md and nostr-connect.md:
//! `cargo run -p endseal-nostr --example endseal-nostr-vectors -- vectors`.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a generator that fails may stop")]

#[path = "vectors/encryption.rs"]
mod encryption;
#[path = "vectors/events.rs"]
mod events;
#[path = "vectors/signer.rs"]
mod signer;

use std::env;
use std::path::PathBuf;

fn main() {
    let dir = PathBuf::from(env::args_os().nth(1).expect("usage: vectors <directory>"));
    encryption::write(&dir);
    events::write(&dir);
    signer::write(&dir);
}

//! Writes the test vectors of docs/spec/archive.md, docs/spec/node.md,
//! docs/spec/node-api.md and docs/spec/transfer.md:
//! `cargo run -p endseal-node --example endseal-node-vectors -- vectors`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a generator that fails may stop")]

#[path = "vectors/archive.rs"]
mod archive;
#[path = "vectors/node.rs"]
mod node;
#[path = "vectors/node_api.rs"]
mod node_api;
#[path = "vectors/node_receipts.rs"]
mod node_receipts;
#[path = "vectors/node_records.rs"]
mod node_records;
#[path = "vectors/node_rules.rs"]
mod node_rules;
#[path = "vectors/transfer.rs"]
mod transfer;

use std::env;
use std::path::PathBuf;

fn main() {
    let dir = PathBuf::from(env::args_os().nth(1).expect("usage: vectors <directory>"));
    archive::write_all(&dir.join("archive"));
    transfer::write_all(&dir.join("transfer"));
    node::write_all(&dir.join("node"));
    node_records::write_all(&dir.join("node"));
    node_receipts::write_all(&dir.join("node"));
    node_rules::write_all(&dir.join("node"));
    node_api::write_all(&dir.join("node-api"));
}

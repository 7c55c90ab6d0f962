//! Rust libraries that endseal is compared with, behind the benchmark peer protocol.
//!
//! The program reads one request a line and answers with one line, until its input ends: see
//! `docs/spec/bench-peer.md`.

#![deny(unsafe_code)]

use std::io;

use crate::allocation::CountingAllocator;

// The same counting allocator as for endseal's own figures, so that both count alike.
#[path = "../../../bench/src/allocation.rs"]
#[allow(unsafe_code, unreachable_pub, reason = "an allocator; public in the crate it is from")]
mod allocation;
mod case;
mod codec_case;
mod content;
mod lines;
mod members;
mod message;
mod peer;
mod protocol;
mod sample;
mod subject;
mod suites;
mod transport;
mod transport_case;
mod versions;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

fn main() -> io::Result<()> {
    lines::serve(suites::PROGRAM)
}

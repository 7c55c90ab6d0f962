//! Rust libraries that endseal is measured beside, behind the benchmark peer protocol.
//!
//! One line in, one line out, until the input ends: see `docs/spec/bench-peer.md`.

#![deny(unsafe_code)]

use std::io;

use crate::allocation::CountingAllocator;

// The allocator that counts for endseal's own figures, so that both count alike.
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

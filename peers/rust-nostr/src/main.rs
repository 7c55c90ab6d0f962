//! The crate `nostr` and the published baseline beside endseal-nostr: the benchmark peer protocol
//! is the files of `peers/rust`. With the argument `interop`, encryption and events for tests.

#![deny(unsafe_code)]

use std::{env, io};

use crate::allocation::CountingAllocator;
use crate::peer::Program;

// The allocator that counts for endseal's own figures, so that both count alike.
#[path = "../../../crates/endseal-bench/src/allocation.rs"]
#[allow(unsafe_code, unreachable_pub, dead_code, reason = "an allocator; public where it is from")]
mod allocation;
mod baseline;
mod cached;
mod case;
mod interop;
mod library;
#[path = "../../rust/src/lines.rs"]
mod lines;
#[path = "../../rust/src/peer.rs"]
mod peer;
#[path = "../../rust/src/protocol.rs"]
#[allow(dead_code, reason = "other suites have answers and parameters of their own")]
mod protocol;
mod subject;
#[path = "../../rust/src/versions.rs"]
mod versions;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

const PROGRAM: Program =
    Program { name: "rust-nostr", subjects: subject::described, prepare: case::prepare };

fn main() -> io::Result<()> {
    match env::args().nth(1).as_deref() {
        None => lines::serve(PROGRAM),
        Some("interop") => lines::serve_answers(interop::answer),
        Some(other) => {
            let message = format!("there is no mode {other}; there is: interop");
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_subjects_are_those_of_the_lock_file() {
        versions::assert_fit(&(PROGRAM.subjects)());
    }
}

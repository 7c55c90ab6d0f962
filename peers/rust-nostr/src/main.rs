//! The crate `nostr` and the published baseline, to be compared with endseal-nostr. The benchmark
//! peer protocol is implemented by the files of `peers/rust`. Modes: `interop`, encryption and
//! events for tests; `bunker` and `client`, remote signing by the crate `nostr-connect`.

#![deny(unsafe_code)]

use std::error::Error;
use std::{env, io};

use crate::allocation::CountingAllocator;
use crate::peer::Program;

// The same counting allocator as for endseal's own figures, so that both count alike.
#[path = "../../../bench/src/allocation.rs"]
#[allow(unsafe_code, unreachable_pub, dead_code, reason = "an allocator; public where it is from")]
mod allocation;
mod baseline;
mod bunker;
mod cached;
mod case;
mod client;
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

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => Ok(lines::serve(PROGRAM)?),
        ["interop"] => Ok(lines::serve_answers(interop::answer)?),
        ["bunker", "--relay", relay] => bunker::serve(relay),
        ["client"] => Ok(client::serve()?),
        _ => {
            let message = "there are these modes: interop, bunker --relay URL, client";
            Err(io::Error::new(io::ErrorKind::InvalidInput, message).into())
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

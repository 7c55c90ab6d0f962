//! Transports with many dependencies, to be compared with endseal's. The benchmark peer protocol
//! and the measured work are the files of `peers/rust`.

#![deny(unsafe_code)]

use std::io;

use crate::allocation::CountingAllocator;
use crate::peer::Program;

// The same counting allocator as for endseal's own figures, so that both count alike.
#[path = "../../../bench/src/allocation.rs"]
#[allow(unsafe_code, unreachable_pub, reason = "an allocator; public in the crate it is from")]
mod allocation;
#[path = "../../rust/src/lines.rs"]
mod lines;
#[path = "../../rust/src/peer.rs"]
mod peer;
#[path = "../../rust/src/protocol.rs"]
#[allow(dead_code, reason = "other suites have answers and parameters of their own")]
mod protocol;
mod subject;
#[path = "../../rust/src/transport.rs"]
mod transport;
#[path = "../../rust/src/transport_case.rs"]
mod transport_case;
#[path = "../../rust/src/versions.rs"]
mod versions;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

const PROGRAM: Program = Program {
    name: "iroh",
    subjects: || subject::SUBJECTS.iter().map(transport_case::describe).collect(),
    prepare: |wanted| transport_case::prepare(&subject::SUBJECTS, wanted),
};

fn main() -> io::Result<()> {
    lines::serve(PROGRAM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_subjects_fits_the_lock_file() {
        versions::assert_fit(&(PROGRAM.subjects)());
    }
}

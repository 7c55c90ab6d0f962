//! Rust libraries that endseal is measured beside, behind the benchmark peer protocol.
//!
//! One line in, one line out, until the input ends: see `docs/spec/bench-peer.md`.

#![deny(unsafe_code)]

use std::io::{self, BufRead, Read, Write};

use crate::allocation::CountingAllocator;
use crate::peer::Peer;
use crate::protocol::{LINE_LIMIT, Refusal, to_line};

// The allocator that counts for endseal's own figures, so that both count alike.
#[path = "../../../crates/endseal-bench/src/allocation.rs"]
#[allow(unsafe_code, unreachable_pub, reason = "an allocator; public in the crate it is from")]
mod allocation;
mod case;
mod codec_case;
mod content;
mod members;
mod message;
mod peer;
mod protocol;
mod sample;
mod subject;
mod transport_case;
mod versions;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

fn main() -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut peer = Peer::default();
    while let Some(line) = read_line(&mut input)? {
        let answer = line.and_then(|line| peer.answer(&line));
        output.write_all(&to_line(&answer)?)?;
        output.flush()?;
    }
    Ok(())
}

/// The next line without its end; `None` at the end of the input. Of a line that is too long
/// nothing is kept.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Result<Vec<u8>, Refusal>>> {
    let mut line = Vec::new();
    if input.take(LINE_LIMIT as u64).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.pop_if(|last| *last == b'\n').is_some() {
        return Ok(Some(Ok(line)));
    }
    if line.len() < LINE_LIMIT {
        // The input ended within a line, which is none.
        return Ok(None);
    }
    input.skip_until(b'\n')?;
    Ok(Some(Err(Refusal::protocol("the line is longer than 1 MiB"))))
}

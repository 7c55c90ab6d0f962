//! Reads one request a line and writes one answer a line, until the input ends: see
//! `docs/spec/bench-peer.md`.

use std::io::{self, BufRead, Read, Write};

use serde::Serialize;

use crate::peer::{Peer, Program};
use crate::protocol::{LINE_LIMIT, Refusal, to_line};

/// Answers the requests on standard input.
pub(crate) fn serve(program: Program) -> io::Result<()> {
    let mut peer = Peer::new(program);
    serve_answers(|line| peer.answer(line))
}

/// Answers each line of standard input by `answer`.
pub(crate) fn serve_answers<T: Serialize>(
    mut answer: impl FnMut(&[u8]) -> Result<T, Refusal>,
) -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    while let Some(line) = read_line(&mut input)? {
        let answer = line.and_then(|line| answer(&line));
        output.write_all(&to_line(&answer)?)?;
        output.flush()?;
    }
    Ok(())
}

/// Reads the next line without its end; `None` at the end of the input. The content of a line that
/// is too long is dropped.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Result<Vec<u8>, Refusal>>> {
    let mut line = Vec::new();
    if input.take(LINE_LIMIT as u64).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.pop_if(|last| *last == b'\n').is_some() {
        return Ok(Some(Ok(line)));
    }
    if line.len() < LINE_LIMIT {
        // The input ended within a line, which does not count.
        return Ok(None);
    }
    input.skip_until(b'\n')?;
    Ok(Some(Err(Refusal::protocol("the line is longer than 1 MiB"))))
}

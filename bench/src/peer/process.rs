//! A process that answers requests line by line, with bounded lines.

use core::time::Duration;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

use serde_json::Value;

use crate::subject::SubjectError;

/// Bytes of the longest line that is read.
const MAX_LINE: u64 = 1 << 20;

/// A process that answers requests. It is ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<Result<String, &'static str>>,
}

impl Process {
    /// Starts the process with piped standard input and output.
    pub(crate) fn start(command: &mut Command) -> Result<Self, SubjectError> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| SubjectError::Failed(error.to_string()))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(SubjectError::Failed("it has no pipes".into()));
        };
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            loop {
                let line = read_line(&mut reader);
                let ended = line.is_err();
                if sender.send(line).is_err() || ended {
                    return;
                }
            }
        });
        Ok(Self { child, stdin, lines })
    }

    /// Returns true unless the process has ended.
    pub(crate) fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Returns the process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a request and waits for a line of answer.
    pub(crate) fn exchange(
        &mut self,
        request: &Value,
        limit: Duration,
    ) -> Result<String, SubjectError> {
        let line = format!("{request}\n");
        self.stdin
            .write_all(line.as_bytes())
            .and_then(|()| self.stdin.flush())
            .map_err(|_| lost("its process ended"))?;
        self.line(limit)
    }

    /// Waits for a line, at most for `limit`.
    pub(crate) fn line(&self, limit: Duration) -> Result<String, SubjectError> {
        match self.lines.recv_timeout(limit) {
            Ok(Ok(line)) => Ok(line),
            Ok(Err(why)) => Err(lost(why)),
            Err(RecvTimeoutError::Timeout) => Err(lost("it did not answer in time")),
            Err(RecvTimeoutError::Disconnected) => Err(lost("its process ended")),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _no_child = self.child.wait();
    }
}

fn lost(why: &str) -> SubjectError {
    SubjectError::Lost(why.into())
}

/// Reads one line, without its end, in bounded memory.
fn read_line(reader: &mut impl BufRead) -> Result<String, &'static str> {
    let mut line = Vec::new();
    let read = reader.take(MAX_LINE).read_until(b'\n', &mut line);
    match read {
        Err(_) | Ok(0) => Err("its process ended"),
        Ok(_) if line.pop() != Some(b'\n') => Err("a line is too long or has no end"),
        Ok(_) => String::from_utf8(line).map_err(|_| "a line is not UTF-8"),
    }
}

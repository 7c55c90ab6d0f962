//! Runs a built peer and talks to it as the harness does.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

pub(crate) struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts that program with piped input and output.
    pub(crate) fn start(program: &str) -> Self {
        let mut child =
            Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub(crate) fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "{line}");
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a line and returns the answer.
    pub(crate) fn ask_raw(&mut self, line: &[u8]) -> Value {
        self.send(line);
        self.send(b"\n");
        self.answer()
    }

    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        self.ask_raw(request.to_string().as_bytes())
    }

    pub(crate) fn prepare(&mut self, subject: &str, case: &str, params: &Value) -> Value {
        let request = json!({"op": "prepare", "subject": subject, "case": case, "params": params,
                             "inputs": 16});
        self.ask(&request)
    }

    /// Closes the input. Expects that the peer prints nothing more and exits successfully.
    pub(crate) fn end(mut self) {
        drop(self.input.take());
        let mut rest = String::new();
        self.output.read_line(&mut rest).unwrap();
        assert_eq!(rest, "");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

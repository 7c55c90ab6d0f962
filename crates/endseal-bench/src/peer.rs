//! A peer process: docs/spec/bench-peer.md.

use core::time::Duration;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::{cell::RefCell, rc::Rc};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::clock::Elapsed;
use crate::record::{Params, SubjectInfo};
use crate::subject::{Checked, Prepared, Subject, SubjectError};

/// Longest line that is read.
const MAX_LINE: u64 = 1 << 20;
const ANSWER: Duration = Duration::from_secs(20);
const WORK: Duration = Duration::from_secs(120);

/// A running peer. It ends with this value.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<Result<String, &'static str>>,
    /// Why nothing more is asked of it.
    dead: Option<String>,
}

impl Peer {
    /// Starts a peer and asks who it is.
    ///
    /// # Errors
    /// [`SubjectError`].
    pub fn start(
        program: &Path,
        arguments: &[&str],
        folder: &Path,
    ) -> Result<Vec<PeerSubject>, SubjectError> {
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(folder)
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
        let mut peer = Self { child, stdin, lines, dead: None };
        // Starting a runtime and loading packages is work.
        let hello: Hello = peer.ask(&json!({"op": "hello", "protocol": 1}), WORK)?;
        if hello.protocol != 1 {
            return Err(SubjectError::Protocol(format!("it speaks version {}", hello.protocol)));
        }
        let peer = Rc::new(RefCell::new(peer));
        let subjects = hello.subjects.into_iter().map(|info| {
            let PeerInfo { subject, about, versions, settings, properties } = info;
            let runtime = hello.runtime.clone();
            let info = SubjectInfo { subject, about, runtime, versions, settings, properties };
            PeerSubject { info, peer: Rc::clone(&peer) }
        });
        Ok(subjects.collect())
    }

    /// Asks and waits for the answer. After a failure of the process or of the protocol, nothing more
    /// is asked.
    fn ask<T: for<'a> Deserialize<'a>>(
        &mut self,
        request: &Value,
        limit: Duration,
    ) -> Result<T, SubjectError> {
        if let Some(why) = &self.dead {
            return Err(SubjectError::Failed(why.clone()));
        }
        let answer = self.exchange(request, limit).and_then(|line| answer(&line));
        if let Err(error @ (SubjectError::Failed(_) | SubjectError::Protocol(_))) = &answer
            && !matches!(error, SubjectError::Failed(why) if why.starts_with(ITS_OWN))
        {
            self.dead = Some(error.to_string());
            let _ended_already = self.child.kill();
        }
        answer
    }

    fn exchange(&mut self, request: &Value, limit: Duration) -> Result<String, SubjectError> {
        let failed = |why: &str| SubjectError::Failed(why.into());
        let line = format!("{request}\n");
        self.stdin
            .write_all(line.as_bytes())
            .and_then(|()| self.stdin.flush())
            .map_err(|_| failed("its process ended"))?;
        match self.lines.recv_timeout(limit) {
            Ok(Ok(line)) => Ok(line),
            Ok(Err(why)) => Err(failed(why)),
            Err(RecvTimeoutError::Timeout) => Err(failed("it did not answer in time")),
            Err(RecvTimeoutError::Disconnected) => Err(failed("its process ended")),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _no_child = self.child.wait();
    }
}

/// One line, without its end, in bounded memory.
fn read_line(reader: &mut impl BufRead) -> Result<String, &'static str> {
    let mut line = Vec::new();
    let read = reader.take(MAX_LINE).read_until(b'\n', &mut line);
    match read {
        Err(_) | Ok(0) => Err("its process ended"),
        Ok(_) if line.pop() != Some(b'\n') => Err("a line is too long or has no end"),
        Ok(_) => String::from_utf8(line).map_err(|_| "a line is not UTF-8"),
    }
}

/// What the message of a subject's own failure begins with.
const ITS_OWN: &str = "by its own account: ";

/// Takes an answer apart.
///
/// # Errors
/// The class that the answer reports, or [`SubjectError::Protocol`] if it is none.
pub fn answer<T: for<'a> Deserialize<'a>>(line: &str) -> Result<T, SubjectError> {
    let protocol = |why: String| SubjectError::Protocol(why);
    let value: Value =
        serde_json::from_str(line).map_err(|_| protocol("an answer is not JSON".into()))?;
    match value.get("ok").and_then(Value::as_bool) {
        Some(true) => serde_json::from_value(value)
            .map_err(|error| protocol(format!("an answer lacks what was asked: {error}"))),
        Some(false) => {
            let text = |field| value.get(field).and_then(Value::as_str).unwrap_or_default();
            // One line, of bounded length, without control characters: it is somebody else's text.
            let message: String =
                text("message").chars().filter(|c| !c.is_control()).take(200).collect();
            Err(match text("error") {
                "unsupported" => SubjectError::Unsupported(message),
                "failed" => SubjectError::Failed(format!("{ITS_OWN}{message}")),
                _ => protocol(message),
            })
        }
        None => Err(protocol("an answer has no `ok`".into())),
    }
}

/// Whether `line` answers a request of that kind, for test vectors.
///
/// # Errors
/// As [`answer`]; [`SubjectError::Protocol`] for an unknown kind.
pub fn judge(op: &str, line: &str) -> Result<(), SubjectError> {
    match op {
        "hello" => answer::<Hello>(line).map(drop),
        "prepare" => answer::<Handle>(line).map(drop),
        "check" => answer::<CheckAnswer>(line).map(drop),
        "run" => answer::<RunAnswer>(line).map(drop),
        "release" => answer::<Done>(line).map(drop),
        _ => Err(SubjectError::Protocol(format!("there is no request {op}"))),
    }
}

#[derive(Deserialize)]
struct Hello {
    protocol: u64,
    #[serde(default)]
    runtime: String,
    subjects: Vec<PeerInfo>,
}

#[derive(Deserialize)]
struct PeerInfo {
    subject: String,
    #[serde(default)]
    about: String,
    #[serde(default)]
    versions: BTreeMap<String, String>,
    #[serde(default)]
    settings: String,
    #[serde(default)]
    properties: Vec<String>,
}

/// One subject of a peer.
#[derive(Debug)]
pub struct PeerSubject {
    info: SubjectInfo,
    peer: Rc<RefCell<Peer>>,
}

impl Subject for PeerSubject {
    fn info(&self) -> &SubjectInfo {
        &self.info
    }

    fn prepare(
        &mut self,
        case: &str,
        params: &Params,
        inputs: u32,
    ) -> Result<Box<dyn Prepared + '_>, SubjectError> {
        let request = json!({
            "op": "prepare",
            "subject": self.info.subject,
            "case": case,
            "params": params,
            "inputs": inputs,
        });
        let Handle { handle } = self.peer.borrow_mut().ask(&request, WORK)?;
        Ok(Box::new(PeerCase { handle, peer: Rc::clone(&self.peer) }))
    }
}

#[derive(Deserialize)]
struct Handle {
    handle: u64,
}

struct PeerCase {
    handle: u64,
    peer: Rc<RefCell<Peer>>,
}

#[derive(Deserialize)]
struct CheckAnswer {
    round_trip: bool,
    tamper_refused: Option<bool>,
    #[serde(default)]
    sealed_bytes: Option<u64>,
}

#[derive(Deserialize)]
struct RunAnswer {
    iterations: u32,
    wall_ns: u64,
    cpu_ns: Option<u64>,
}

#[derive(Deserialize)]
struct Done {}

impl Prepared for PeerCase {
    fn check(&mut self) -> Result<Checked, SubjectError> {
        let request = json!({"op": "check", "handle": self.handle});
        let CheckAnswer { round_trip, tamper_refused, sealed_bytes } =
            self.peer.borrow_mut().ask(&request, WORK)?;
        Ok(Checked { round_trip, tamper_refused, sealed_bytes })
    }

    #[allow(clippy::cast_precision_loss, reason = "below 2^53 by the protocol")]
    fn run(&mut self, iterations: u32) -> Result<Elapsed, SubjectError> {
        let request = json!({"op": "run", "handle": self.handle, "iterations": iterations});
        let RunAnswer { iterations: done, wall_ns, cpu_ns } =
            self.peer.borrow_mut().ask(&request, WORK)?;
        if done != iterations || wall_ns == 0 {
            return Err(SubjectError::Protocol(format!("{done} of {iterations} iterations")));
        }
        Ok(Elapsed::new(wall_ns as f64, cpu_ns.map(|cpu| cpu as f64)))
    }
}

impl Drop for PeerCase {
    fn drop(&mut self) {
        let request = json!({"op": "release", "handle": self.handle});
        let _the_peer_may_be_dead: Result<Done, _> = self.peer.borrow_mut().ask(&request, ANSWER);
    }
}

//! A peer: a program with subjects that speaks the protocol of docs/spec/bench-peer.md.

use core::time::Duration;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{cell::RefCell, rc::Rc};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::case::Case;
use crate::clock::Elapsed;
use crate::duplex::examine::ROUND_TRIP_NS;
use crate::record::{Better, SubjectInfo};
use crate::subject::{Checked, Extra, Failure, Prepared, Subject, SubjectError};

pub(crate) mod process;

use process::Process;

const RELEASE: Duration = Duration::from_secs(20);
const WORK: Duration = Duration::from_secs(120);

/// A program that holds subjects. Its process ends when this is dropped. If a subject crashes it,
/// it is started again: that subject loses its figure, the others only time.
#[derive(Debug)]
pub struct Peer {
    program: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
    /// Time limit of an answer.
    timeout: Duration,
    process: Option<Process>,
    /// Number of starts. A handle from an earlier process is invalid in the present one.
    starts: u64,
    /// Reason why the process is not started again.
    gone: Option<String>,
}

impl Peer {
    /// Starts a peer and reads its description.
    ///
    /// # Errors
    /// Fails if the process cannot be started, does not answer in time, or does not follow the
    /// protocol.
    pub fn start(
        program: &Path,
        arguments: &[impl AsRef<str>],
        folder: &Path,
    ) -> Result<Vec<Subject>, Failure> {
        Self::start_with_timeout(program, arguments, folder, WORK)
    }

    /// Starts a peer as [`Self::start`] does, with another time limit for an answer.
    ///
    /// # Errors
    /// Fails as [`Self::start`].
    pub fn start_with_timeout(
        program: &Path,
        arguments: &[impl AsRef<str>],
        folder: &Path,
        timeout: Duration,
    ) -> Result<Vec<Subject>, Failure> {
        let mut peer = Self {
            program: program.into(),
            arguments: arguments.iter().map(|it| it.as_ref().to_owned()).collect(),
            folder: folder.into(),
            timeout,
            process: None,
            starts: 0,
            gone: None,
        };
        let hello = peer.launch()?;
        let peer = Rc::new(RefCell::new(peer));
        let subject = |info: PeerInfo| {
            let PeerInfo { subject, about, versions, settings, properties } = info;
            let runtime = hello.runtime.clone();
            let (peer, name) = (Rc::clone(&peer), subject.clone());
            let info = SubjectInfo {
                subject,
                suite: None,
                about,
                runtime,
                versions,
                settings,
                properties,
            };
            Subject::new(info, move |case, inputs| prepare(&peer, &name, case, inputs))
        };
        Ok(hello.subjects.into_iter().map(subject).collect())
    }

    fn launch(&mut self) -> Result<Hello, SubjectError> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(&self.folder);
        self.process = Some(Process::start(&mut command)?);
        self.starts += 1;
        // Starting a runtime and loading packages takes time.
        let hello: Hello = self.ask(&json!({"op": "hello", "protocol": 1}), self.timeout)?;
        if hello.protocol != 1 {
            self.process = None;
            return Err(SubjectError::Protocol(format!("it speaks version {}", hello.protocol)));
        }
        Ok(hello)
    }

    /// Starts the process again if it was lost. Returns the number of starts.
    fn alive(&mut self) -> Result<u64, SubjectError> {
        if let Some(why) = &self.gone {
            return Err(SubjectError::Lost(why.clone()));
        }
        if self.process.is_none()
            && let Err(error) = self.launch()
        {
            let why = format!("it could not be started again: {error}");
            self.gone = Some(why.clone());
            return Err(SubjectError::Lost(why));
        }
        Ok(self.starts)
    }

    /// Sends a request and waits for the answer. The process is ended if it closes its output, is
    /// late or violates the protocol.
    fn ask<T: for<'a> Deserialize<'a>>(
        &mut self,
        request: &Value,
        limit: Duration,
    ) -> Result<T, SubjectError> {
        let Some(process) = &mut self.process else {
            return Err(SubjectError::Lost("its process ended".into()));
        };
        let answer = process.exchange(request, limit).and_then(|line| answer(&line));
        if answer.as_ref().is_err_and(SubjectError::ended_process) {
            self.process = None;
        }
        answer
    }
}

/// Parses an answer.
///
/// # Errors
/// Returns the error class that the answer reports, or [`SubjectError::Protocol`] if it is not a
/// valid answer.
pub fn answer<T: for<'a> Deserialize<'a>>(line: &str) -> Result<T, SubjectError> {
    let protocol = |why: String| SubjectError::Protocol(why);
    let value: Value =
        serde_json::from_str(line).map_err(|_| protocol("an answer is not JSON".into()))?;
    match value.get("ok").and_then(Value::as_bool) {
        Some(true) => serde_json::from_value(value)
            .map_err(|error| protocol(format!("an answer lacks what was asked: {error}"))),
        Some(false) => {
            let text = |field| value.get(field).and_then(Value::as_str).unwrap_or_default();
            // Text of a foreign program: reduced to one line of bounded length, without control
            // characters.
            let message: String =
                text("message").chars().filter(|c| !c.is_control()).take(200).collect();
            Err(match text("error") {
                "unsupported" => SubjectError::Unsupported(message),
                "failed" => SubjectError::Failed(message),
                _ => protocol(message),
            })
        }
        None => Err(protocol("an answer has no `ok`".into())),
    }
}

/// Checks that `line` answers a request of the kind `op`, for test vectors.
///
/// # Errors
/// Fails as [`answer`], and with [`SubjectError::Protocol`] for an unknown kind.
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

/// Prepares a case of one subject of a peer.
fn prepare(
    peer: &Rc<RefCell<Peer>>,
    subject: &str,
    case: &Case,
    inputs: u32,
) -> Result<Box<dyn Prepared>, Failure> {
    let request = json!({
        "op": "prepare",
        "subject": subject,
        "case": case.case,
        "params": case.params,
        "inputs": inputs,
    });
    let mut own = peer.borrow_mut();
    let start = own.alive()?;
    let timeout = own.timeout;
    let Handle { handle } = own.ask(&request, timeout)?;
    Ok(Box::new(PeerCase { request, start, handle, peer: Rc::clone(peer), extra: Vec::new() }))
}

#[derive(Deserialize)]
struct Handle {
    handle: u64,
}

struct PeerCase {
    /// Request that prepared the case. It is repeated in a new process if another subject crashed
    /// the previous one.
    request: Value,
    /// Number of the start whose process knows the handle.
    start: u64,
    handle: u64,
    peer: Rc<RefCell<Peer>>,
    /// Figures that the check reported in addition to its verdict.
    extra: Vec<Extra>,
}

impl PeerCase {
    /// Sends a request about this case with its handle. Prepares the case again if the process was
    /// restarted.
    fn ask<T: for<'a> Deserialize<'a>>(&mut self, mut request: Value) -> Result<T, SubjectError> {
        let mut peer = self.peer.borrow_mut();
        let timeout = peer.timeout;
        let start = peer.alive()?;
        let is_new = start != self.start;
        if is_new {
            let Handle { handle } = peer.ask(&self.request, timeout)?;
            (self.start, self.handle) = (start, handle);
        }
        request["handle"] = self.handle.into();
        if is_new && request["op"] == "run" {
            // A runtime that has just started has compiled nothing yet.
            let _warm_up: RunAnswer = peer.ask(&request, timeout)?;
        }
        peer.ask(&request, timeout)
    }
}

#[derive(Deserialize)]
struct CheckAnswer {
    round_trip: bool,
    tamper_refused: Option<bool>,
    #[serde(default)]
    sealed_bytes: Option<u64>,
    #[serde(default)]
    figures: BTreeMap<String, Vec<u64>>,
}

/// Figures that a check may report: name in the answer, metric, unit, and the number by which
/// the value is divided.
const FIGURES: [(&str, &str, &str, u64); 7] = [
    ("bytes_sent", "bytes_sent", "B", 1),
    ("bytes_received", "bytes_received", "B", 1),
    ("delayed_ns", "round_trips", "1", ROUND_TRIP_NS),
    ("idle_memory", "idle_memory", "B", 1),
    ("bytes_written", "bytes_written", "B", 1),
    ("state_bytes", "state_bytes", "B", 1),
    ("recovered_percent", RECOVERED, "%", 1),
];
/// The figure of which more is better.
const RECOVERED: &str = "recovered";
/// Largest number of values that are kept of one figure.
const MOST_SAMPLES: usize = 1000;

#[allow(clippy::cast_precision_loss, reason = "below 2^53 by the protocol")]
fn extra(figures: &BTreeMap<String, Vec<u64>>) -> Vec<Extra> {
    let known = FIGURES.iter().filter_map(|(name, metric, unit, one)| {
        let samples = figures.get(*name)?.iter().take(MOST_SAMPLES);
        let samples = samples.map(|sample| *sample as f64 / *one as f64).collect();
        let better = if *metric == RECOVERED { Better::More } else { Better::Less };
        Some(Extra { metric, unit, better, samples })
    });
    known.collect()
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
    fn check(&mut self) -> Result<Checked, Failure> {
        let CheckAnswer { round_trip, tamper_refused, sealed_bytes, figures } =
            self.ask(json!({"op": "check"}))?;
        self.extra = extra(&figures);
        Ok(Checked { round_trip, tamper_refused, sealed_bytes })
    }

    #[allow(clippy::cast_precision_loss, reason = "below 2^53 by the protocol")]
    fn run(&mut self, iterations: u32) -> Result<Elapsed, Failure> {
        let RunAnswer { iterations: done, wall_ns, cpu_ns } =
            self.ask(json!({"op": "run", "iterations": iterations}))?;
        if done != iterations || wall_ns == 0 {
            self.peer.borrow_mut().process = None;
            let why = format!("{done} of {iterations} iterations");
            return Err(SubjectError::Protocol(why).into());
        }
        Ok(Elapsed::new(wall_ns as f64, cpu_ns.map(|cpu| cpu as f64)))
    }

    fn extra(&mut self) -> Result<Vec<Extra>, Failure> {
        Ok(core::mem::take(&mut self.extra))
    }
}

impl Drop for PeerCase {
    fn drop(&mut self) {
        let mut peer = self.peer.borrow_mut();
        if peer.starts == self.start {
            let request = json!({"op": "release", "handle": self.handle});
            let _the_process_may_be_lost: Result<Done, _> = peer.ask(&request, RELEASE);
        }
    }
}

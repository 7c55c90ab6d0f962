//! The shipped `endseal signer`, behind a relay.

use core::time::Duration;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use endseal_node::{Existing, Readers, write_file};
use serde_json::Value;

use super::random;
use crate::bunker::{self, Relay, Signing, TIMEOUT};
use crate::case::Case;
use crate::peer::process::Process;
use crate::program;
use crate::s3::process::memory;
use crate::scratch::Folder;
use crate::subject::{Checked, Extra, Failure, Prepared};

/// Pause between the last request and reading the memory.
const REST: Duration = Duration::from_secs(2);

/// The signer with its relay and its state directory, which is on the disk of temporary files.
#[derive(Debug)]
pub(super) struct Signer {
    process: Process,
    _relay: Relay,
    state: State,
    invited: u64,
}

/// The signer's state directory.
#[derive(Debug)]
struct State(Folder);

impl Signer {
    /// Starts a signer with a new user key.
    pub(super) fn start() -> Result<Self, Failure> {
        let relay = Relay::start()?;
        let state = State(Folder::new()?);
        let passphrase = hex(&random()?);
        write_file(&state.passphrase(), passphrase.as_bytes(), Existing::Keep, Readers::Owner)?;
        state.ask(&["init"], "")?;
        state.ask(&["import"], &hex(&random()?))?;
        let process = Process::start(state.command()?.args(["run", "--relay", &relay.url]))?;
        process.line(TIMEOUT)?;
        Ok(Self { process, _relay: relay, state, invited: 0 })
    }

    /// Creates the URL for a new app that may sign text notes.
    fn invite(&mut self) -> Result<String, Failure> {
        self.invited += 1;
        let name = format!("app {}", self.invited);
        let said = self.state.ask(&["invite", &name, "--allow", "sign:1"], "")?;
        let uri = said.get("uri").and_then(Value::as_str);
        Ok(uri.ok_or("it gave no URL")?.to_owned())
    }

    /// Prepares the case `bunker_sign` with an app of its own.
    pub(super) fn signing(&mut self, case: &Case) -> Result<Box<dyn Prepared>, Failure> {
        let bunker = self.invite()?;
        Ok(Box::new(Signing::new(&bunker, self.process.id(), case, ())?))
    }
}

impl State {
    fn passphrase(&self) -> PathBuf {
        self.0.at("passphrase")
    }

    fn command(&self) -> Result<Command, Failure> {
        let mut command = program::endseal()?;
        command.args(["--json", "--home"]).arg(self.0.at("home"));
        command.arg("--passphrase-file").arg(self.passphrase()).arg("signer");
        Ok(command)
    }

    /// Runs a command to its end and returns the JSON object that it prints.
    fn ask(&self, words: &[&str], typed: &str) -> Result<Value, Failure> {
        let mut command = self.command()?;
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let mut stdin = child.stdin.take().ok_or("it has no pipes")?;
        // A command that reads no input may have ended already.
        let _ = stdin.write_all(typed.as_bytes());
        drop(stdin);
        let output = child.wait_with_output()?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            let why = why.lines().next().unwrap_or_default();
            return Err(format!("endseal signer {}: {why}", words[0]).into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

fn hex(bytes: &[u8; 32]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The case `bunker_idle`: memory of a signer whose apps are all connected and send no requests.
pub(super) struct Idle {
    signer: Signer,
    apps: usize,
}

impl Idle {
    pub(super) fn new(apps: usize) -> Result<Self, Failure> {
        Ok(Self { apps, signer: Signer::start()? })
    }
}

impl Prepared for Idle {
    /// One event is signed for each app, and its client verifies it.
    fn check(&mut self) -> Result<Checked, Failure> {
        for _ in 0..self.apps {
            bunker::pair(&self.signer.invite()?)?;
        }
        Ok(Checked::round_trip(true))
    }

    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    fn extra(&mut self) -> Result<Vec<Extra>, Failure> {
        thread::sleep(REST);
        let resident = memory(self.signer.process.id(), "VmRSS:")?;
        Ok(vec![Extra::less("idle_memory", "B", vec![resident as f64])])
    }
}

//! A hub and nodes as processes of this program.

use core::time::Duration;
use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::interrupt;

/// Longest wait for a process.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(2);

/// A person with a state directory.
pub(super) struct Person {
    program: PathBuf,
    pub(super) home: PathBuf,
}

impl Person {
    pub(super) fn new(folder: &Path, name: &str) -> Result<Self, String> {
        let program = env::current_exe().map_err(text)?;
        Ok(Self { program, home: folder.join(name) })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--home").arg(&self.home).arg("--json").args(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command. Returns the lines that it printed.
    pub(super) fn run(&self, words: &[&str]) -> Result<Vec<Value>, String> {
        self.feed(words, b"")
    }

    /// Runs a command with standard input.
    pub(super) fn feed(&self, words: &[&str], input: &[u8]) -> Result<Vec<Value>, String> {
        let mut child = self.command(words).stdin(Stdio::piped()).spawn().map_err(text)?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input).map_err(text)?;
        }
        let output = child.wait_with_output().map_err(text)?;
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr);
            let last = told.lines().last().unwrap_or_default();
            return Err(format!("{} ended with {}: {last}", words.join(" "), output.status));
        }
        let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).map_err(text)).collect()
    }

    /// The value of a field in the only line of a command.
    pub(super) fn field(&self, words: &[&str], field: &str) -> Result<Value, String> {
        let mut lines = self.run(words)?;
        let line = lines.pop().filter(|_| lines.is_empty());
        let value = line.and_then(|mut line| line.get_mut(field).map(Value::take));
        value.ok_or_else(|| format!("{} printed no {field}", words.join(" ")))
    }

    /// Runs a command until it has written to its store, and kills it then. Returns the time, or
    /// `None` if it had ended before.
    pub(super) fn kill_in_the_middle(&self, words: &[&str]) -> Result<Option<Duration>, String> {
        let begin = Instant::now();
        let mut child = self.command(words).spawn().map_err(text)?;
        let before = self.log_len();
        while self.log_len() <= before && begin.elapsed() < PATIENCE {
            if child.try_wait().map_err(text)?.is_some() {
                return Ok(None);
            }
            thread::sleep(PAUSE);
        }
        let time = begin.elapsed();
        child.kill().map_err(text)?;
        let ended_before = child.wait().map_err(text)?.success();
        Ok((!ended_before).then_some(time))
    }

    /// Length of the files of the store.
    fn log_len(&self) -> u64 {
        let files = fs::read_dir(self.home.join("store")).into_iter().flatten().flatten();
        files.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
    }
}

/// A hub that runs.
pub(super) struct Hub {
    pub(super) owner: Person,
    pub(super) address: String,
    child: Child,
}

impl Hub {
    pub(super) fn start(owner: Person, address: &str) -> Result<Self, String> {
        let mut command = owner.command(&["hub", "serve", "--listen", address, "--log", "off"]);
        let mut child = command.stderr(Stdio::null()).spawn().map_err(text)?;
        interrupt::kill(Some(child.id()));
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).map_err(text)?;
        }
        let listening: Option<Value> = serde_json::from_str(&line).ok();
        let address = listening.as_ref().and_then(|it| it["address"].as_str());
        match address.map(str::to_owned) {
            Some(address) => Ok(Self { owner, address, child }),
            None => {
                // It ended by itself, or does with the end of this process.
                let _ = child.kill();
                let _ = child.wait();
                Err("the hub did not start".to_owned())
            }
        }
    }

    /// Asks it to stop, waits, and returns its owner.
    pub(super) fn stop(mut self) -> Result<Person, String> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.ok_or("no process")?, Signal::TERM).map_err(text)?;
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().map_err(text)? {
                break status;
            }
            if begin.elapsed() > PATIENCE {
                return Err("the hub does not stop".to_owned());
            }
            thread::sleep(PAUSE);
        };
        interrupt::kill(None);
        let (program, home) = (self.owner.program.clone(), self.owner.home.clone());
        match status.success() {
            true => Ok(Person { program, home }),
            false => Err(format!("the hub ended with {status}")),
        }
    }

    pub(super) fn database(&self) -> PathBuf {
        self.owner.home.join("hub/hub.db")
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
        interrupt::kill(None);
    }
}

/// Flips a bit behind the first occurrence of `mark`, `distance` bytes after its end.
pub(super) fn flip_behind(file: &Path, mark: &[u8], distance: usize) -> Result<(), String> {
    let mut bytes = fs::read(file).map_err(text)?;
    let at = bytes.windows(mark.len()).position(|window| window == mark);
    let at = at.ok_or("there is no frame in the database")? + mark.len() + distance;
    *bytes.get_mut(at).ok_or("the database ends there")? ^= 1;
    fs::write(file, bytes).map_err(text)
}

pub(super) fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}

//! A process that listens on a free port of this machine.

use core::time::Duration;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, sleep};
use std::time::Instant;

use serde_json::Value;

use crate::people::Person;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Listener {
    child: Child,
    /// Lines as they come, so that a test that waits in vain fails instead of waiting on.
    lines: mpsc::Receiver<String>,
    /// `PEERID@ADDRESS`, as it was printed.
    pub(crate) address: String,
    /// The first line that was printed.
    pub(crate) first: String,
}

impl Listener {
    /// Begins to listen with those further arguments.
    pub(crate) fn start(person: &Person<'_>, args: &[&str]) -> Self {
        Self::of(person.command(&[&["listen", "--listen", "127.0.0.1:0"], args].concat()))
    }

    pub(crate) fn of(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || out.lines().try_for_each(|line| sender.send(line.unwrap())));
        let mut own = Self { child, lines, address: String::new(), first: String::new() };
        let first = own.line();
        own.address = match serde_json::from_str::<Value>(&first) {
            Ok(json) => {
                let text = |name: &str| json[name].as_str().unwrap().to_owned();
                format!("{}@{}", text("peer_id"), text("address"))
            }
            Err(_) => first.clone(),
        };
        own.first = first;
        assert!(own.address.starts_with("endsealpeer1"), "{:?}", own.end());
        own
    }

    /// Its address, without the peer id.
    pub(crate) fn host(&self) -> &str {
        self.address.split_once('@').unwrap().1
    }

    /// The next line that it prints.
    #[track_caller]
    pub(crate) fn line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no line: {:?}", self.end()))
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end, as ^C does.
    pub(crate) fn interrupt(&self) {
        let pid = self.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    }

    /// The same, if it has not ended by itself.
    pub(crate) fn interrupt_if_alive(&mut self) {
        if self.child.try_wait().unwrap().is_none() {
            self.interrupt();
        }
    }

    /// Ends it as no program can prevent.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end, if it comes in time: exit code, what it still printed, and what it said.
    pub(crate) fn end(&mut self) -> (Option<i32>, String, String) {
        let end = Instant::now() + PATIENCE;
        while self.child.try_wait().unwrap().is_none() {
            if Instant::now() > end {
                self.child.kill().unwrap();
            }
            sleep(Duration::from_millis(5));
        }
        let out = self.lines.iter().map(|line| line + "\n").collect();
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (self.child.wait().unwrap().code(), out, err)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

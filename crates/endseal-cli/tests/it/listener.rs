//! A process that listens on a free port of this machine.

use core::time::Duration;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, sleep};
use std::time::Instant;

use serde_json::Value;

use crate::people::Person;

/// Time that no step of these tests takes, even on a busy machine. A peer whose last datagram is
/// lost is waited for 60 s by the program itself.
const TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) struct Listener {
    child: Child,
    /// Lines as they arrive, so that a test fails after a timeout instead of waiting forever.
    lines: mpsc::Receiver<String>,
    /// `PEERID@ADDRESS`, as the process printed it.
    pub(crate) address: String,
    /// First line that the process printed.
    pub(crate) first: String,
}

impl Listener {
    /// Starts a listener with additional arguments.
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

    /// Returns its address without the peer id.
    pub(crate) fn host(&self) -> &str {
        self.address.split_once('@').unwrap().1
    }

    /// Returns the next line that it prints.
    #[track_caller]
    pub(crate) fn line(&mut self) -> String {
        self.lines.recv_timeout(TIMEOUT).unwrap_or_else(|_| panic!("no line: {:?}", self.end()))
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end, like ^C.
    pub(crate) fn interrupt(&self) {
        let pid = self.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    }

    /// Interrupts it if it has not ended by itself.
    pub(crate) fn interrupt_if_alive(&mut self) {
        if self.child.try_wait().unwrap().is_none() {
            self.interrupt();
        }
    }

    /// Kills it with SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end. Returns exit code, remaining output and standard error.
    pub(crate) fn end(&mut self) -> (Option<i32>, String, String) {
        let end = Instant::now() + TIMEOUT;
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

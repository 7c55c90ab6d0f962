//! Persons with state directories, who run the program.

use core::time::Duration;
use std::fs;
use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;

use endseal_crypto::random::OsRandom;
use endseal_keyring::{IdentityFile, KdfParams, Passphrase};
use endseal_testing::Scratch;
use serde_json::Value;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_endseal");

/// Time that no run takes, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(240);

/// Result of a run of the program.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        let err = String::from_utf8(output.stderr).unwrap();
        let Some(code) = output.status.code() else {
            panic!("killed by a signal, perhaps after {TIMEOUT:?}; it said: {err}")
        };
        Self { code, out: output.stdout, err }
    }

    pub(crate) fn text(&self) -> &str {
        core::str::from_utf8(&self.out).unwrap()
    }

    /// Checks that the run succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.err);
        self
    }

    /// Checks that the run failed with this exit code and reason, and printed no data.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, why: &str) -> Self {
        assert_eq!(self.code, code, "{}", self.err);
        assert!(self.err.lines().any(|line| line.starts_with("error: ")), "{}", self.err);
        assert!(self.err.contains(why), "{:?} is not in: {}", why, self.err);
        assert!(self.out.is_empty());
        self
    }

    /// Returns the last line of standard error. Checks that standard output is empty.
    #[track_caller]
    pub(crate) fn confirmation(&self) -> &str {
        assert_eq!(self.text(), "");
        self.err.lines().last().unwrap_or_default()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.out).expect("one JSON object on standard output")
    }
}

/// Makes a command of the program that is independent of the machine's settings.
pub(crate) fn program() -> Command {
    let mut command = Command::new(PROGRAM);
    for name in ["ENDSEAL_HOME", "ENDSEAL_PASSPHRASE", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"] {
        command.env_remove(name);
    }
    command.env("TZ", "UTC0").stdin(Stdio::null());
    command
}

/// Runs a command, and returns its result.
pub(crate) fn run(command: &mut Command) -> Ran {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    end(command.spawn().unwrap())
}

/// Waits for the end of a process. A process that does not end is killed, so that its test fails
/// instead of waiting forever.
fn end(child: Child) -> Ran {
    let id = child.id().to_string();
    let (ended, end) = mpsc::channel::<()>();
    thread::spawn(move || {
        if end.recv_timeout(TIMEOUT) == Err(mpsc::RecvTimeoutError::Timeout) {
            // It may have ended at this moment, which is not a fault.
            let _ended = Command::new("kill").args(["-KILL", &id]).status();
        }
    });
    let output = child.wait_with_output().unwrap();
    drop(ended);
    Ran::of(output)
}

/// Runs a command with this standard input.
pub(crate) fn feed(command: &mut Command, input: &[u8]) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A program that stops reading is not a fault of the test.
    let writer = thread::spawn(move || drop(stdin.write_all(&input)));
    let ran = end(child);
    writer.join().unwrap();
    ran
}

/// A person who works in a scratch folder, with a state directory in it.
pub(crate) struct Person<'a> {
    pub(crate) name: &'static str,
    pub(crate) scratch: &'a Scratch,
}

impl<'a> Person<'a> {
    /// Makes a person with an identity without a passphrase, which is the fastest for a test.
    pub(crate) fn new(name: &'static str, scratch: &'a Scratch) -> Self {
        let own = Self { name, scratch };
        own.run(&["init", "--no-passphrase"]).ok();
        own
    }

    /// Makes a person with an identity under a passphrase, whose derivation is as cheap as the
    /// format allows. The device has no passphrase.
    pub(crate) fn with_passphrase(
        name: &'static str,
        scratch: &'a Scratch,
        passphrase: &str,
    ) -> Self {
        let own = Self::new(name, scratch);
        let path = scratch.path(name).join("identity.endseal");
        let plain = IdentityFile::parse(&fs::read(&path).unwrap()).unwrap();
        let identity = plain.open_without_passphrase().unwrap().unwrap();
        let passphrase = Passphrase::new(passphrase).unwrap();
        let sealed = IdentityFile::seal(&identity, &passphrase, KdfParams::MINIMUM, &mut OsRandom);
        fs::write(path, sealed.unwrap().as_bytes()).unwrap();
        own
    }

    /// Makes Alice and Bob, who have each other as peers, and a folder `inbox` for the listener.
    pub(crate) fn two_peers(scratch: &'a Scratch) -> [Self; 2] {
        let people = ["alice", "bob"].map(|name| Person::new(name, scratch));
        for (one, other) in [(0, 1), (1, 0)] {
            let other = &people[other];
            people[one].run(&["peers", "add", other.name, &other.peer_id()]).ok();
        }
        fs::create_dir(scratch.path("inbox")).unwrap();
        people
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = program();
        command.current_dir(self.scratch.folder());
        command.arg("--home").arg(self.scratch.path(self.name)).args(args);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        run(&mut self.command(args))
    }

    pub(crate) fn feed(&self, args: &[&str], input: &[u8]) -> Ran {
        feed(&mut self.command(args), input)
    }

    pub(crate) fn identity(&self) -> String {
        self.run(&["id", "show"]).ok().text().trim_end().to_owned()
    }

    pub(crate) fn identity_pq(&self) -> String {
        self.run(&["id", "show", "--pq"]).ok().text().trim_end().to_owned()
    }

    pub(crate) fn peer_id(&self) -> String {
        self.run(&["id", "show", "--peer"]).ok().text().trim_end().to_owned()
    }

    pub(crate) fn knows(&self, other: &Person<'_>) {
        self.run(&["contacts", "add", other.name, &other.identity_pq()]).ok();
    }
}

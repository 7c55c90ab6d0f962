//! Context of a command: streams, clock and environment. Tests replace it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Write};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use endseal_keyring::IdentityFile;
use endseal_node::{Home, IdentityError};
use rustix::io::Errno;

use crate::config::{self, Config};
use crate::failure::{self, Failure, Kind};
use crate::global::Global;
use crate::json::{self, Value};
use crate::printable::printable;
use crate::style::{Color, styled};
use crate::typed::redacted;

/// Result of a command.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Text for standard output.
    pub(crate) text: String,
    /// One line for standard error, which describes the change that was made. Omitted with
    /// `--quiet`.
    pub(crate) confirmation: Option<String>,
    /// Value that `--json` prints.
    pub(crate) json: Value,
    /// True if standard output carries data; the rest is then printed on standard error.
    pub(crate) data_on_stdout: bool,
    /// True if the result is negative, although no error occurred. The exit code is then 1.
    pub(crate) refused: bool,
}

impl Outcome {
    pub(crate) fn new(text: impl Into<String>, json: Value) -> Self {
        Self { text: text.into(), json, ..Self::default() }
    }

    /// Makes the result of a change of state. `confirmation` is one line without its end.
    pub(crate) fn done(confirmation: impl Into<String>, json: Value) -> Self {
        Self { confirmation: Some(confirmation.into()), json, ..Self::default() }
    }
}

/// Returns the time in milliseconds since 1970-01-01T00:00:00Z, by this machine's clock.
pub(crate) fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    u64::try_from(now).unwrap_or(u64::MAX)
}

/// Environment variable that names the state directory.
const HOME: &str = "ENDSEAL_HOME";

/// Streams, clock, environment and global options of one command.
pub(crate) struct Ctx {
    pub(crate) stdin: Box<dyn Read + Send>,
    pub(crate) stdout: Box<dyn Write>,
    pub(crate) stderr: Box<dyn Write>,
    pub(crate) stdin_is_terminal: bool,
    pub(crate) stdout_is_terminal: bool,
    pub(crate) stderr_is_terminal: bool,
    /// Start of the command in milliseconds since 1970-01-01T00:00:00Z.
    pub(crate) now: u64,
    pub(crate) environment: fn(&'static str) -> Option<OsString>,
    pub(crate) global: Global,
}

impl Ctx {
    /// Makes the context of this process. The streams are not buffered, so that callers must write
    /// in large pieces.
    pub(crate) fn of_process() -> io::Result<Self> {
        let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
        Ok(Self {
            stdin_is_terminal: stdin.is_terminal(),
            stdout_is_terminal: stdout.is_terminal(),
            stderr_is_terminal: stderr.is_terminal(),
            stdin: Box::new(File::from(stdin.as_fd().try_clone_to_owned()?)),
            stdout: Box::new(File::from(stdout.as_fd().try_clone_to_owned()?)),
            stderr: Box::new(File::from(stderr.as_fd().try_clone_to_owned()?)),
            now: now(),
            environment: |name| std::env::var_os(name),
            global: Global::default(),
        })
    }

    /// Runs a command and reports its result. Returns the exit code.
    pub(crate) fn run(
        &mut self,
        global: Global,
        hardened: Result<(), Errno>,
        command: impl FnOnce(&mut Self) -> Result<Outcome, Failure>,
    ) -> u8 {
        self.global = global;
        if hardened.is_err() {
            self.note("warning: this system does not let endseal forbid core dumps");
        }
        if let Ok(home) = self.home_path() {
            self.detail(&format!("state directory '{}'", home.display()));
        }
        if let Some(file) = config::file(self.environment).filter(|file| file.exists()) {
            self.detail(&format!("configuration file '{}'", file.display()));
        }
        match command(self).and_then(|outcome| self.tell(outcome)) {
            Ok(code) => code,
            Err(failure) => self.fail(failure),
        }
    }

    /// Prints the result of a command. Returns the exit code.
    pub(crate) fn tell(&mut self, outcome: Outcome) -> Result<u8, Failure> {
        let text = match (self.global.json, outcome.json.is_null()) {
            (true, false) => json::line(&outcome.json),
            (true, true) => String::new(),
            (false, _) => outcome.text,
        };
        if outcome.data_on_stdout {
            if self.global.json || !self.global.quiet {
                let _ = self.stderr.write_all(text.as_bytes());
            }
        } else if !text.is_empty() {
            self.print(text.as_bytes())?;
        }
        if let Some(confirmation) = &outcome.confirmation {
            self.note(&printable(confirmation));
        }
        Ok(if outcome.refused { Kind::Refused.code() } else { 0 })
    }

    /// Reports a failure on standard error. Returns the exit code.
    pub(crate) fn fail(&mut self, failure: Failure) -> u8 {
        let failure = failure.for_command(&self.global);
        if failure.kind != Kind::Closed {
            let text = match self.global.json {
                true => json::line(&failure.json()),
                false => self.styled(failure.text()),
            };
            // If this fails too, the exit code still reports the failure.
            let _ = self.stderr.write_all(text.as_bytes());
        }
        failure.kind.code()
    }

    /// Prints a message of clap: an error, help, or the version.
    pub(crate) fn usage(&mut self, mut error: clap::Error) -> u8 {
        let is_to = |value: &ContextValue| matches!(value, ContextValue::String(typed) if typed.trim_start_matches('-') == "to");
        if error.get(ContextKind::InvalidArg).is_some_and(is_to)
            && error.get(ContextKind::SuggestedArg).is_some()
        {
            error.insert(ContextKind::SuggestedArg, ContextValue::String("-r".to_owned()));
            error.remove(ContextKind::Usage);
        }
        let kind = error.kind();
        if kind == ErrorKind::UnknownArgument
            && std::env::args_os().any(|argument| argument == "say")
            && error.get(ContextKind::InvalidArg).is_some_and(
                |value| matches!(value, ContextValue::String(word) if !word.starts_with('-')),
            )
        {
            let tip = "put a text of several words into quotes: endseal say NAME 'TEXT'";
            let tips = ContextValue::StyledStrs(vec![tip.into()]);
            error.insert(ContextKind::Suggested, tips);
        }
        // The text repeats the arguments.
        let text = redacted(&error.render().to_string());
        if !error.use_stderr() {
            return match self.print(text.as_bytes()) {
                Ok(()) => 0,
                Err(failure) => self.fail(failure),
            };
        }
        // An argument with a line end would start a line of its own.
        let typed = std::env::args_os().filter_map(|argument| argument.into_string().ok());
        let text = typed
            .filter(|it| it.contains('\n'))
            .fold(text, |text, argument| text.replace(&argument, &printable(&argument)));
        let text: String = text.split_inclusive('\n').map(printable_line).collect();
        if std::env::args_os().any(|argument| argument == "--json") {
            self.global.json = true;
            return self.fail(Failure::usage(message(&text, kind)).hint("endseal --help"));
        }
        self.global.color = Color::typed(std::env::args_os());
        let text = self.styled(text);
        let _ = self.stderr.write_all(text.as_bytes());
        Kind::Usage.code()
    }

    /// Writes to standard output. Fails if it was closed or cannot be written.
    pub(crate) fn print(&mut self, data: &[u8]) -> Result<(), Failure> {
        self.stdout.write_all(data).map_err(|error| failure::standard(&error))
    }

    /// Prints a note on standard error, except with `--quiet` or `--json`.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.global.quiet && !self.global.json {
            let text = self.styled(text.to_owned());
            let _ = writeln!(self.stderr, "{text}");
        }
    }

    /// Prints a detail on standard error with `--verbose`. It must not be secret.
    pub(crate) fn detail(&mut self, text: &str) {
        if self.global.verbose {
            self.note(&printable(&redacted(text)));
        }
    }

    fn styled(&self, text: String) -> String {
        match self.global.color.is_on(self.stderr_is_terminal, self.environment) {
            true => styled(&text),
            false => text,
        }
    }

    /// Takes standard error, for a command that reports failures while it continues. Later messages
    /// go to the process's own standard error.
    pub(crate) fn take_stderr(&mut self) -> Box<dyn Write> {
        core::mem::replace(&mut self.stderr, Box::new(io::stderr()))
    }

    /// Returns the path of the state directory, which need not exist.
    pub(crate) fn home_path(&self) -> Result<PathBuf, Failure> {
        if let Some(home) = &self.global.home {
            return Ok(home.clone());
        }
        if (self.environment)(HOME).is_none()
            && let Some(home) = self.config()?.home
        {
            return Ok(home);
        }
        Ok(Home::default_path(self.environment)?)
    }

    /// Reads the user's configuration file.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        Config::load(self.environment)
    }

    /// Opens the state directory.
    pub(crate) fn home(&self) -> Result<Home, Failure> {
        Ok(Home::open(&self.home_path()?)?)
    }

    /// Reads the identity file of the state directory.
    pub(crate) fn identity(&mut self, home: &Home) -> Result<IdentityFile, IdentityError> {
        self.detail(&format!("identity file '{}'", home.identity_path().display()));
        home.identity()
    }

    /// Returns true if a progress bar may be shown.
    pub(crate) fn shows_progress(&self) -> bool {
        self.stderr_is_terminal && !self.global.quiet && !self.global.json
    }
}

/// Extracts the message from the text of a clap error.
fn message(text: &str, kind: ErrorKind) -> &str {
    if kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // In this case the text is the help.
        return "an argument or a subcommand is missing";
    }
    let text = text.strip_prefix("error: ").unwrap_or(text);
    text.split("\n\nFor more information").next().unwrap_or(text).trim_end()
}

/// Replaces the characters of a line that could control a terminal, and keeps its line end.
fn printable_line(line: &str) -> String {
    match line.strip_suffix('\n') {
        Some(line) => printable(line) + "\n",
        None => printable(line),
    }
}

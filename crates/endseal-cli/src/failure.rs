//! Failures of commands: message, causes, hint and exit code.

mod sessions;

use core::error::Error;
use core::fmt::Write as _;
use std::io;

use endseal_crypto::identity::PublicIdentity;
use endseal_envelope::{OpenError, RecipientsError, SealError};
use endseal_keyring::IdentityText;
use endseal_keyring::identity_file::{OpenIdentityFileError, SealIdentityFileError};
use endseal_keyring::roster::SignRosterError;
use endseal_node::person::PersonError;
use endseal_node::{
    AddressBookError, FileError, GroupError, HomeError, IdentityError, ImportError, InstallError,
    OpenFileError, RenewError, SealFileError,
};

use crate::global::Global;
use crate::json::{self, Value};
use crate::printable::printable;
use crate::typed::redacted;

/// Kind of a failure, which determines the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The input was refused: not sealed to this identity, altered, not an envelope, a wrong
    /// signature or a wrong passphrase.
    Refused,
    /// The arguments are not valid, or the command would replace something that exists.
    Usage,
    /// A file, the disk, the terminal, the network, or another process prevents the command.
    Environment,
    /// The state directory is missing, unsafe or damaged.
    Configuration,
    /// A text was stored to be sent, and something failed after that. To repeat the command would
    /// send the text twice.
    Kept,
    /// The command was interrupted by SIGINT or SIGTERM.
    Interrupted,
    /// The reader of the output has closed it. This is not a failure, and nothing is reported.
    Closed,
}

impl Kind {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Closed => 0,
            Self::Refused => 1,
            Self::Usage => 2,
            Self::Environment => 3,
            Self::Configuration => 4,
            Self::Kept => 5,
            Self::Interrupted => 130,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Refused => "refused",
            Self::Usage => "usage",
            Self::Environment => "environment",
            Self::Configuration => "configuration",
            Self::Interrupted => "interrupted",
            Self::Kept => "kept",
        }
    }
}

/// Reason why a command did not complete.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
    /// A long option, and the hint for commands that have it.
    option_hint: Option<(&'static str, &'static str)>,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), causes: Vec::new(), hint: None, option_hint: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// Makes a failure from an error and its sources.
    pub(crate) fn of(kind: Kind, error: &dyn Error) -> Self {
        let own = Self::new(kind, error.to_string());
        match error.source() {
            Some(source) if is_read_only(source) => own.hint(READ_ONLY).because(source),
            Some(source) => own.because(source),
            None => own,
        }
    }

    /// Formats message and causes in one line, for a log.
    pub(crate) fn line(&self) -> String {
        [core::slice::from_ref(&self.message), &self.causes].concat().join(": ")
    }

    /// Changes the kind.
    pub(crate) fn kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// Adds an error and its sources as causes.
    pub(crate) fn because(mut self, error: &dyn Error) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            let cause = error.to_string();
            if error.source().is_some_and(is_read_only) {
                self.hint.get_or_insert_with(|| READ_ONLY.to_owned());
            }
            // Skips a wrapper that repeats the text of its source.
            if self.causes.last().unwrap_or(&self.message) != &cause {
                self.causes.push(cause);
            }
            next = error.source();
        }
        self
    }

    /// Adds a text as the cause.
    pub(crate) fn because_text(mut self, cause: String) -> Self {
        self.causes.push(cause);
        self
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), option_hint: None, ..self }
    }

    /// Adds a hint, which comes before the one that is there.
    pub(crate) fn hint_first(self, hint: impl Into<String>) -> Self {
        let first = hint.into();
        let hint = match &self.hint {
            Some(next) => format!("{first}; {next}"),
            None => first,
        };
        self.hint(hint)
    }

    /// Returns true if the hint is this one.
    pub(crate) fn has_hint(&self, hint: &str) -> bool {
        self.hint.as_deref() == Some(hint)
    }

    /// Adds the hint for commands that have a long option. Other commands keep the hint that was
    /// set before.
    pub(crate) fn hint_with(self, option: &'static str, hint: &'static str) -> Self {
        Self { option_hint: Some((option, hint)), ..self }
    }

    /// Chooses the hint for a command with these options.
    pub(crate) fn for_command(self, global: &Global) -> Self {
        match self.option_hint {
            Some((option, hint)) if global.has_option(option) => self.hint(hint),
            _ => self,
        }
    }

    /// Formats the failure for people. File names are untrusted text: control characters are
    /// replaced, and a secret that was typed in place of a name is not shown.
    pub(crate) fn text(&self) -> String {
        let shown = |text: &str| printable(&redacted(text));
        let mut text = format!("error: {}\n", shown(&self.message));
        // Writing to a string cannot fail.
        for cause in &self.causes {
            let _ = writeln!(text, "  because: {}", shown(cause));
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(text, "hint: {}", shown(hint));
        }
        text
    }

    /// Formats the failure for programs.
    pub(crate) fn json(&self) -> Value {
        let causes: Vec<String> = self.causes.iter().map(|cause| redacted(cause)).collect();
        let error = json::object([
            ("kind", self.kind.name().into()),
            ("exit_code", self.kind.code().into()),
            ("message", redacted(&self.message).into()),
            ("causes", causes.into()),
            ("hint", self.hint.as_deref().map(redacted).into()),
        ]);
        json::object([("error", error)])
    }
}

/// Hint for a store that `endseal up` is using.
pub(crate) const STOP_UP: &str = "stop it first: ^C there, or SIGTERM";
/// Hint for a file system that takes no files.
const READ_ONLY: &str = "the file system can only be read: mount it for writing, or choose a place \
                         elsewhere; commands that read texts write to the state directory (--home \
                         DIR), too";
/// Hint for a file that exists already.
pub(crate) const MOVE: &str = "choose another name, or move it away";

/// Makes the failure for a state directory with a device and without an identity.
pub(crate) fn not_linked() -> Failure {
    Failure::new(Kind::Configuration, "this device is not linked yet: it has no identity").hint(
        "wait until endseal devices link has ended, or run it again if it was interrupted; if the \
         identity file is lost, put it back from a copy",
    )
}

/// Makes the failure for an error on a standard stream.
pub(crate) fn standard(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failure::new(Kind::Closed, "the output was closed");
    }
    Failure::new(Kind::Environment, "cannot write to standard output").because(error)
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let failure = Self::of(Kind::Environment, &error);
        match &error {
            FileError::Exists(_) => Self { kind: Kind::Usage, ..failure }
                .hint(MOVE)
                .hint_with("force", "choose another name, or replace it with --force"),
            FileError::Loose { path, mode } => {
                let safe = if mode & 0o111 == 0 { "600" } else { "700" };
                let kind = Kind::Configuration;
                let path = path.display();
                let hint = format!(
                    "only you may use it: chmod {safe} '{path}'; if that changes nothing, as on a \
                     Windows drive in WSL, use a folder of Linux: --home DIR"
                );
                Self { kind, ..failure }.hint(hint)
            }
            FileError::NotARegularFile(_) => failure.hint(
                "to write to a device or pipe, leave -o away and redirect: > FILE; in a folder, \
                 name a file",
            ),
            FileError::Io { source, .. } => match io_hint(source) {
                Some(hint) => failure.hint(hint),
                None => failure,
            },
            _ => failure,
        }
    }
}

/// Makes the failure for a file of the state directory. A file that is too long counts as damaged.
fn in_home(error: FileError) -> Failure {
    match error {
        FileError::TooLong { .. } => Failure::of(Kind::Configuration, &error),
        other => other.into(),
    }
}

fn is_read_only(error: &(dyn Error + 'static)) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|it| it.kind() == io::ErrorKind::ReadOnlyFilesystem)
}

fn io_hint(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some("make room; an existing file is unchanged, and the output is not complete")
        }
        io::ErrorKind::ReadOnlyFilesystem => Some(READ_ONLY),
        io::ErrorKind::FileTooLarge => {
            Some("the file system or a limit (ulimit -f) allows no more")
        }
        _ => None,
    }
}

impl From<HomeError> for Failure {
    fn from(error: HomeError) -> Self {
        match error {
            HomeError::File(error) => Self { kind: Kind::Configuration, ..error.into() },
            HomeError::Missing(_) => Self::of(Kind::Configuration, &error)
                .hint("make one with: endseal init; or name another with --home or ENDSEAL_HOME"),
            HomeError::Unknown => Self::of(Kind::Configuration, &error)
                .hint("set HOME or ENDSEAL_HOME, or give --home"),
            _ => Self::of(Kind::Configuration, &error),
        }
    }
}

impl From<IdentityError> for Failure {
    fn from(error: IdentityError) -> Self {
        let failure = Self::of(Kind::Configuration, &error);
        match error {
            IdentityError::File(FileError::Exists(_)) => Self { kind: Kind::Usage, ..failure }
                .hint(
                    "nothing was changed; with --force, identity and device are replaced and the \
                     conversations of this device end: the old files are kept under other names",
                ),
            IdentityError::File(error) => in_home(error),
            IdentityError::Missing(path) if path.ends_with("device.endseal") => failure.hint(
                "put a backup in its place, or make a new device: endseal init --paper --force",
            ),
            // The link of a device writes the identity last.
            IdentityError::Missing(path) if path.with_file_name("device.endseal").exists() => {
                not_linked()
            }
            IdentityError::Missing(_) => failure.hint("make one with: endseal init"),
            IdentityError::Parse { .. } => failure.hint(
                "nothing was changed; put a backup in its place, or begin anew with: endseal init \
                 --force",
            ),
            _ => failure,
        }
    }
}

impl From<RenewError> for Failure {
    fn from(error: RenewError) -> Self {
        match error {
            RenewError::Person(error) => error.into(),
            RenewError::Sessions(error) => error.into(),
            RenewError::Engine(error) => error.into(),
            _ => Self::of(Kind::Environment, &error)
                .hint("nothing is lost; run endseal devices renew again"),
        }
    }
}

impl From<InstallError> for Failure {
    fn from(error: InstallError) -> Self {
        match error {
            InstallError::File(error) => IdentityError::File(error).into(),
            InstallError::Person(error) => error.into(),
            InstallError::Identity(error) => error.into(),
            InstallError::HasDevice => Self::of(Kind::Usage, &error).hint(
                "its identity file is missing: put it back from a copy; a further device needs \
                 a state directory of its own: --home DIR",
            ),
            InstallError::InUse => Self::of(Kind::Environment, &error).hint(STOP_UP),
            InstallError::NumberUsed(_) => {
                Self::of(Kind::Usage, &error).hint("choose another --device")
            }
            InstallError::Sessions(error) => error.into(),
            _ => Self::of(Kind::Environment, &error),
        }
    }
}

impl From<PersonError> for Failure {
    fn from(error: PersonError) -> Self {
        match error {
            PersonError::File(error) => IdentityError::File(error).into(),
            PersonError::Missing(_) | PersonError::Parse { .. } => {
                Self::of(Kind::Configuration, &error)
            }
            _ => Self::of(Kind::Environment, &error),
        }
    }
}

impl From<OpenIdentityFileError> for Failure {
    fn from(error: OpenIdentityFileError) -> Self {
        match error {
            OpenIdentityFileError::Authentication => Self::of(Kind::Refused, &error),
            OpenIdentityFileError::NoMemory => Self::of(Kind::Environment, &error),
            _ => Self::of(Kind::Configuration, &error),
        }
    }
}

impl From<SealIdentityFileError> for Failure {
    fn from(error: SealIdentityFileError) -> Self {
        Self::of(Kind::Environment, &error)
    }
}

impl From<AddressBookError> for Failure {
    fn from(error: AddressBookError) -> Self {
        match error {
            AddressBookError::File(error) => in_home(error),
            _ => Self::of(Kind::Configuration, &error)
                .hint("mend or remove that line with an editor; nothing was changed"),
        }
    }
}

impl From<GroupError> for Failure {
    fn from(error: GroupError) -> Self {
        let usage = |error: &GroupError| Self::of(Kind::Usage, error);
        match error {
            GroupError::File(error) => in_home(error),
            GroupError::EpochKey(_) | GroupError::EpochKeyLength => Self::of(Kind::Refused, &error),
            GroupError::Change(_) => usage(&error),
            GroupError::Members(_) => {
                usage(&error).hint("name each member once; NAME=IDENTITY gives a member a name")
            }
            GroupError::Exists(_) | GroupError::Reserved(_) => {
                usage(&error).hint("choose another name")
            }
            GroupError::NotPermitted(_) => {
                usage(&error).hint("ask one of them to change it; endseal group show names them")
            }
            GroupError::Sign(SignRosterError::OwnerOnly(_) | SignRosterError::RemovesSigner) => {
                usage(&error)
            }
            GroupError::Unknown(_) => usage(&error).hint("endseal group list shows all groups"),
            GroupError::Random => Self::of(Kind::Environment, &error),
            _ => Self::of(Kind::Configuration, &error),
        }
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Group(GroupError::Exists(_)) => Self::of(Kind::Usage, &error)
                .hint("it is another group: give this one another name here with --as"),
            ImportError::Group(GroupError::Reserved(_)) => {
                Self::of(Kind::Usage, &error).hint("give the group another name here with --as")
            }
            ImportError::Group(error) => error.into(),
            ImportError::OtherName(_) => Self::of(Kind::Usage, &error).hint("leave --as away"),
            ImportError::UnknownOwner(_) => Self::of(Kind::Refused, &error)
                .hint("verify the owner's key, then: endseal contacts add NAME IDENTITY"),
            _ => Self::of(Kind::Refused, &error).hint("nothing was changed"),
        }
    }
}

impl From<RecipientsError> for Failure {
    fn from(error: RecipientsError) -> Self {
        let failure = Self::of(Kind::Usage, &error);
        match error {
            RecipientsError::Empty => {
                failure.hint("name one with -r, -R or -g, or yourself with --to-self")
            }
            RecipientsError::ConflictingKeys(key) => {
                let short = IdentityText::from(PublicIdentity::short(key));
                failure.hint(format!("compare the long identity of {short} with its owner"))
            }
            _ => failure,
        }
    }
}

impl From<SealFileError> for Failure {
    fn from(error: SealFileError) -> Self {
        match &error {
            SealFileError::Output(cause) if cause.kind() == io::ErrorKind::BrokenPipe => {
                Self::new(Kind::Closed, "the output was closed")
            }
            SealFileError::Output(cause) => {
                with_io_hint(Self::of(Kind::Environment, &error), cause)
            }
            SealFileError::Seal(SealError::NoMlKemKey) => Self::of(Kind::Usage, &error)
                .hint("ask for the long identity (endsealpq1...), or choose another --suite"),
            SealFileError::Seal(SealError::ContentTooLong) => Self::of(Kind::Usage, &error),
            _ => Self::of(Kind::Environment, &error),
        }
    }
}

impl From<OpenFileError> for Failure {
    fn from(error: OpenFileError) -> Self {
        match &error {
            OpenFileError::Output(cause) if cause.kind() == io::ErrorKind::BrokenPipe => {
                Self::new(Kind::Closed, "the output was closed")
            }
            OpenFileError::Output(cause) => {
                with_io_hint(Self::of(Kind::Environment, &error), cause)
            }
            OpenFileError::Envelope(cause) => {
                let failure = Self::of(Kind::Refused, &error);
                match cause {
                    OpenError::Authentication => failure.hint(
                        "ask the sender whether it was sealed to you (endseal id show), and for \
                         another copy",
                    ),
                    OpenError::UnsupportedVersion(_) | OpenError::UnsupportedSuite(_) => {
                        failure.hint("a newer endseal may know it")
                    }
                    OpenError::SenderNotAccepted(_) => {
                        failure.hint("it is authentic, but --from does not name its sender")
                    }
                    _ => failure,
                }
            }
            _ => Self::of(Kind::Environment, &error),
        }
    }
}

fn with_io_hint(failure: Failure, error: &io::Error) -> Failure {
    match io_hint(error) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_file_system_that_can_only_be_read_is_named_with_what_to_do() {
        let read_only = || io::Error::from(io::ErrorKind::ReadOnlyFilesystem);
        let lock: Failure = FileError::io("open", Path::new("home/lock"), read_only()).into();
        // The store's errors have it as a source.
        let store = io::Error::other(FileError::io("open", Path::new("store"), read_only()));
        let store = Failure::of(Kind::Environment, &store);
        for failure in [lock, store] {
            let text = failure.text();
            assert!(text.contains("hint: the file system can only be read"), "{text}");
        }
    }
}

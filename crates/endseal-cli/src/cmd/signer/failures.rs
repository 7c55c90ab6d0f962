//! Failures of commands on the signer.

use std::path::Path;

use endseal_signer::control::{CallError, CommandError};
use endseal_signer::{CreateSignerError, OpenSignerError, RunError, UnlockError};
use endseal_store::{CreateStoreError, OpenStoreError};

use crate::failure::{Failure, Kind};

/// Hint for commands that need a running signer.
const START: &str = "start it with: endseal signer run";

/// Makes the failure for a folder without a signer.
pub(super) fn missing(directory: &Path) -> Failure {
    Failure::new(Kind::Configuration, format!("there is no signer in '{}'", directory.display()))
        .hint("make one with: endseal signer init; or name another state directory with --home")
}

/// Makes the failure for a folder in which a signer or another file exists already.
pub(super) fn exists(directory: &Path) -> Failure {
    Failure::usage(format!("there is a signer in '{}' already", directory.display()))
        .hint("use another state directory with --home, or move it away")
}

/// Makes the failure for a signer that is running already.
pub(super) fn runs(directory: &Path) -> Failure {
    let message = format!("the signer in '{}' runs already", directory.display());
    Failure::new(Kind::Environment, message).hint("endseal signer status shows its relays")
}

/// Makes the failure for a signer that was not created.
pub(super) fn create(directory: &Path, error: &CreateSignerError) -> Failure {
    if let CreateSignerError::Create(CreateStoreError::Exists) = error {
        return exists(directory);
    }
    let message = format!("no signer was made in '{}'", directory.display());
    Failure::new(Kind::Environment, message).because(error)
}

/// Makes the failure for a signer that was not opened.
pub(super) fn open(directory: &Path, error: &OpenSignerError) -> Failure {
    let message = format!("cannot open the signer in '{}'", directory.display());
    let of = |kind| Failure::new(kind, message).because(error);
    let OpenSignerError::Open(cause) = error else { return of(Kind::Configuration) };
    match cause {
        OpenStoreError::Authentication => of(Kind::Refused)
            .hint("the passphrase is wrong, or the key file was changed; nothing was changed now"),
        OpenStoreError::Locked => {
            of(Kind::Environment).hint("try again when the process that uses it has ended")
        }
        OpenStoreError::Full | OpenStoreError::Io(_) | OpenStoreError::NoMemory => {
            of(Kind::Environment)
        }
        OpenStoreError::OtherVersion(_) => {
            of(Kind::Configuration).hint("another version of endseal made it")
        }
        _ => of(Kind::Configuration).hint("put a copy of endseal signer backup in its place"),
    }
}

/// Makes the failure for a signer that did not start, or that ended because of an error.
pub(super) fn run(error: RunError) -> Failure {
    match error {
        RunError::Relays(error) => error.into(),
        RunError::Listen(address, error) => {
            Failure::new(Kind::Environment, format!("cannot listen at {address}"))
                .because(&error)
                .hint("end the process that listens there, or choose another address")
        }
        RunError::Keys(UnlockError::Unwritten) => Failure::of(Kind::Environment, &error),
        RunError::Keys(_) => Failure::of(Kind::Configuration, &error),
        RunError::Page(_) => Failure::of(Kind::Usage, &error),
        RunError::PageUrl(_) => Failure::of(Kind::Usage, &error).hint("name it with --page-url"),
        _ => Failure::of(Kind::Environment, &error),
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Command(error) => error.into(),
            CallError::NotRunning => Self::of(Kind::Environment, &error).hint(START),
            _ => Self::new(Kind::Environment, "the running signer gave no reply").because(&error),
        }
    }
}

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Self {
        let of = |kind| Self::of(kind, &error);
        match &error {
            CommandError::NoApp(_) | CommandError::NoRule(_) => {
                of(Kind::Usage).hint("endseal signer apps shows all apps and their rules")
            }
            CommandError::Asks => {
                of(Kind::Usage).hint("endseal signer apps shows what it asks for now")
            }
            CommandError::KeyInUse(_) => of(Kind::Usage)
                .hint("endseal signer apps shows them; end each with endseal signer revoke"),
            CommandError::NotWaiting(_) => {
                of(Kind::Usage).hint("endseal signer waiting shows those that wait")
            }
            CommandError::NameTaken(_) => of(Kind::Usage).hint("choose another name"),
            CommandError::User(_) => of(Kind::Usage)
                .hint_with("user", "name one with --user; endseal signer status shows all"),
            CommandError::Credential(_) => of(Kind::Usage).hint_with(
                "for",
                "name the relay, the site, or the method and its URL, and add: --for 90d",
            ),
            CommandError::NoRelays => of(Kind::Usage).hint("name one with --relay URL"),
            CommandError::Passphrase | CommandError::Broken(..) => of(Kind::Refused),
            CommandError::Running => of(Kind::Environment).hint("stop it first"),
            CommandError::NotRunning => of(Kind::Environment).hint(START),
            CommandError::Store(_) | CommandError::Busy => of(Kind::Environment),
            _ => of(Kind::Usage),
        }
    }
}

//! `endseal signer passphrase`: changes the passphrase of the signer.

use std::path::PathBuf;

use endseal_signer::{ChangePassphraseError, Signer, UnlockError};
use endseal_store::{KdfParams, ReprotectError};

use super::access::{self, PROMPT};
use super::failures;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::{json, passphrase};

/// Change the passphrase of a signer that does not run
///
/// The present one is asked for or given as for every command, and the new one is typed twice, or
/// given in a file. Keys, apps and rules stay. If it is interrupted, one of both is in force.
/// Copies that were made before still open with the old one.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Take the new one from the first line of a file
    #[arg(long, value_name = "FILE")]
    new_passphrase_file: Option<PathBuf>,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let directory = access::directory(ctx)?;
    // Check before the user types a passphrase.
    if access::is_running(&directory) {
        return Err(failures::runs(&directory).hint("stop it first: ^C there, or SIGTERM"));
    }
    let mut signer: Signer = passphrase::open(PROMPT, ctx, |given| {
        access::with_forms(given, |form| access::open_as(&directory, form))
    })?;
    let new = match &args.new_passphrase_file {
        Some(file) => passphrase::new_in(file, ctx)?,
        None => passphrase::type_new(ctx)?,
    };
    signer.change_passphrase(access::text(&new), KdfParams::RECOMMENDED)?;
    let path = directory.display().to_string();
    let json = json::object([("signer", path.clone().into())]);
    Ok(Outcome::done(format!("the signer in '{path}' has a new passphrase"), json))
}

impl From<ChangePassphraseError> for Failure {
    fn from(error: ChangePassphraseError) -> Self {
        let (kind, hint) = match &error {
            ChangePassphraseError::Unlock(UnlockError::Key) => {
                (Kind::Configuration, "the old passphrase stays; put a copy in the signer's place")
            }
            ChangePassphraseError::Reprotect(ReprotectError::Uncertain(_))
            | ChangePassphraseError::State(_) => (
                Kind::Environment,
                "either passphrase may be in force: try both, and then run it again",
            ),
            _ => (Kind::Environment, "the old passphrase stays"),
        };
        Self::of(kind, &error).hint(hint)
    }
}

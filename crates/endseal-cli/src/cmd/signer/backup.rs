//! `endseal signer backup`: copies the signer's store.

use std::path::{self, PathBuf};

use endseal_node::FileError;
use endseal_signer::control::{Command, Reply};

use super::access;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;

/// Copy the store into a new folder, under the same passphrase
///
/// The copy has all keys and rules. To restore it, move it to signer in the state directory, and
/// revoke again what was revoked since; uses that were counted since are not counted.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// A folder that is not there yet
    dir: PathBuf,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    // A running signer has another current directory.
    let directory = path::absolute(&args.dir)
        .map_err(|source| FileError::io("find the folder", &args.dir, source))?;
    // This error is clearer than the one that the signer would give.
    if directory.symlink_metadata().is_ok() {
        return Err(FileError::Exists(args.dir.clone()).into());
    }
    let Reply::Done = access::ask(Command::Backup { directory }, ctx)? else {
        return Err(access::unexpected());
    };
    let path = args.dir.display().to_string();
    let json = json::object([("backup", path.clone().into())]);
    Ok(Outcome::done(format!("backup in '{path}'"), json))
}

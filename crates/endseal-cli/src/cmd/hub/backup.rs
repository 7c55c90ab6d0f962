//! `endseal hub backup`: copies the database of a hub.

use std::path::PathBuf;

use endseal_node::FileError;

use super::place::{self, Place};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;

/// Copy the database to a new file, also while the hub runs
///
/// The hub's key is not in it: it is in the hub's folder. If the command fails or is killed, what
/// it wrote is no copy: remove it. A hub that goes on with a copy has lost what came after it, and
/// its nodes say so; devices that registered after it are unknown, and invitations that were used
/// after it are open again.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// A file that is not there yet
    file: PathBuf,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let store = args.place.open(ctx)?.store()?;
    if args.file.symlink_metadata().is_ok() {
        return Err(FileError::Exists(args.file.clone()).into());
    }
    store.backup(&args.file).map_err(|error| place::storage(&error))?;
    let path = args.file.display().to_string();
    let json = json::object([("backup", path.clone().into())]);
    Ok(Outcome::done(format!("backup in '{path}'"), json))
}

//! `endseal session group key-package`: writes a key package of this device.

use core::time::Duration;
use std::path::PathBuf;

use endseal_node::{Existing, Readers, write_file};
use endseal_session::GroupChangeError;
use endseal_session::group::Suite;

use crate::cmd::session::shown;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;
use crate::output::DASH;
use crate::sessions::with;

/// Write a key package, with which a member adds this device to a group
///
/// It is not secret. Give each to one person, who adds this device to one group with it; it is
/// valid for 84 days.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// File for the key package
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the file
    #[arg(short, long)]
    force: bool,
}

pub(crate) fn run(args: &Args, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    if args.output.as_os_str() == DASH {
        return Err(Failure::usage("a key package is written to a file").hint("-o FILE"));
    }
    let existing = if args.force { Existing::Replace } else { Existing::Keep };
    if !args.force && args.output.symlink_metadata().is_ok() {
        return Err(endseal_node::FileError::Exists(args.output.clone()).into());
    }
    let now = Duration::from_millis(ctx.now);
    let device = with(wait, ctx, |engine, _| {
        let package = engine.transaction(|it| it.key_package(Suite::default(), now));
        let package = package.map_err(|error: GroupChangeError| Failure::from(error))?;
        write_file(&args.output, &package, existing, Readers::Umask)?;
        Ok(engine.address().device.number())
    })?;
    let path = shown(&args.output);
    let json = json::object([("device", device.into()), ("output", path.clone().into())]);
    Ok(Outcome::done(format!("key package of device {device} in '{path}'"), json))
}

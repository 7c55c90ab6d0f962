//! `endseal session bundle`

use core::time::Duration;
use std::path::{Path, PathBuf};

use endseal_node::{Existing, Readers, write_file};
use endseal_session::{EngineError, PrekeyBundle, PrekeyKind};

use super::{shown, with};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;
use crate::output::DASH;
use crate::printable::plural;

/// Write prekey bundles, with which others begin sessions with this device
///
/// A bundle is not secret. Give each to one person, who begins one session with it. A fallback
/// bundle works for any number of people. It is replaced after 7 days and valid for 7 more.
/// Sessions that begin with it are less protected until you answer. An interrupted run writes the
/// same bundles next time.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Number of bundles
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(0..=1000))]
    count: u16,
    /// Also write a fallback bundle
    #[arg(long)]
    fallback: bool,
    /// A file for one bundle, or a folder for any number
    #[arg(short, long, value_name = "FILE|DIR")]
    output: PathBuf,
    /// Replace the file
    #[arg(short, long)]
    force: bool,
}

pub(crate) fn run(args: &Args, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let is_folder = args.output.is_dir();
    if args.output.as_os_str() == DASH {
        return Err(Failure::usage("bundles are written to files").hint("name one with -o FILE"));
    }
    if !is_folder && usize::from(args.count) + usize::from(args.fallback) != 1 {
        let message =
            format!("'{}' is not a folder, and a file holds one bundle", shown(&args.output));
        return Err(Failure::usage(message).hint("make the folder first, or leave --count away"));
    }
    let existing = if args.force { Existing::Replace } else { Existing::Keep };
    if !is_folder && !args.force && args.output.symlink_metadata().is_ok() {
        return Err(endseal_node::FileError::Exists(args.output.clone()).into());
    }
    let now = ctx.now;
    let (device, files) = with(wait, ctx, |engine, _| {
        let count = args.count.into();
        let bundles = engine.transaction(|it| {
            if args.fallback {
                it.prekey_bundles(count, now)
            } else {
                it.one_time_bundles(count, now)
            }
        });
        let bundles = bundles.map_err(|error: EngineError| Failure::from(error))?;
        let mut files = Vec::new();
        for bundle in &bundles {
            let path = if is_folder { args.output.join(name(bundle)) } else { args.output.clone() };
            write(&path, bundle, existing)?;
            files.push(shown(&path));
        }
        // After the files are there: bundles of a run that ends before are written by the next.
        engine.transaction(|it| it.published(&bundles)).map_err(|error: EngineError| error)?;
        Ok((engine.address().device.number(), files))
    })?;
    let text = format!(
        "{} of device {device} in '{}'",
        plural(files.len() as u64, "bundle"),
        shown(&args.output)
    );
    let json = json::object([("device", device.into()), ("bundles", files.into())]);
    Ok(Outcome::done(text, json))
}

/// Writes a bundle. A file that holds it already was written by a run that ended before it could
/// note that.
fn write(path: &Path, bundle: &PrekeyBundle, existing: Existing) -> Result<(), Failure> {
    let is_there =
        std::fs::read(path).is_ok_and(|bytes| bytes.as_slice() == bundle.as_bytes().as_slice());
    if !is_there {
        write_file(path, bundle.as_bytes(), existing, Readers::Umask)?;
    }
    Ok(())
}

/// Another name for each prekey.
fn name(bundle: &PrekeyBundle) -> PathBuf {
    let key: String =
        bundle.key().as_bytes()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let kind = if bundle.kind() == PrekeyKind::Fallback { "fallback-" } else { "" };
    Path::new(&format!("{kind}{key}.bundle")).to_owned()
}

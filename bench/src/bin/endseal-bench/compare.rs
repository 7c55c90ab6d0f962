//! `endseal-bench compare`

use std::path::PathBuf;

use endseal_bench::compare::compare;

use crate::Outcome;
use crate::failure::{Failure, Kind};
use crate::report::read;

/// Compare two runs, figure by figure, beyond the noise of both
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Record of the earlier run: run.json or run.json.gz
    first: PathBuf,
    /// Record of the later run
    second: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    let comparison = compare(&read(&args.first)?, &read(&args.second)?);
    let json = serde_json::to_value(&comparison).map_err(|error| {
        Failure::new(Kind::Environment, "the comparison has no JSON form").because(&error)
    })?;
    Ok(Outcome { text: comparison.text(), json })
}

//! `endseal bench report`

use std::path::PathBuf;

use endseal_bench::schema::{ReadRecordError, read_record_file};

use super::run::write_reports;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json;

/// Write report.md and report.html anew from a run.json
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// What an earlier run wrote
    #[arg(default_value = "bench-results/run.json")]
    run: PathBuf,
    /// Where the reports go
    #[arg(short, long, value_name = "DIR", default_value = "bench-results")]
    out: PathBuf,
}

pub(crate) fn run(args: &Args, _: &mut Ctx) -> Result<Outcome, Failure> {
    let record = read_record_file(&args.run).map_err(|error| unreadable(&args.run, &error))?;
    write_reports(&args.out, &record)?;
    let out = args.out.display().to_string();
    Ok(Outcome::new(format!("written to {out}\n"), json::object([("out", out.into())])))
}

/// A `run.json` that cannot be read is the environment's fault; one that says something else is an
/// answer of no.
pub(super) fn unreadable(path: &std::path::Path, error: &ReadRecordError) -> Failure {
    let kind = match error {
        ReadRecordError::Unreadable(_) => Kind::Environment,
        _ => Kind::Refused,
    };
    Failure::new(kind, format!("cannot take figures from '{}'", path.display())).because(error)
}

//! `endseal-bench report`

use std::path::{Path, PathBuf};

use endseal_bench::record::{ReadRecordError, Record, read_record_file};
use serde_json::json;

use crate::Outcome;
use crate::failure::{Failure, Kind};
use crate::results::write_report;

/// Write report.html again from a run.json or run.json.gz
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Record of an earlier run
    #[arg(default_value = "bench-results/run.json")]
    run: PathBuf,
    /// Folder of the report
    #[arg(short, long, value_name = "DIR", default_value = "bench-results")]
    out: PathBuf,
    /// Print the table of README.md instead
    #[arg(long, conflicts_with = "out")]
    readme: bool,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    let record = read(&args.run)?;
    if args.readme {
        let text = endseal_bench::report::readme(&record);
        return Ok(Outcome { json: json!({ "markdown": text }), text });
    }
    write_report(&args.out, &record)?;
    let out = args.out.display().to_string();
    Ok(Outcome { text: format!("written to {out}\n"), json: json!({ "out": out }) })
}

/// Reads a record. The failure is one of the environment if the file cannot be read, otherwise a
/// refusal.
pub(crate) fn read(path: &Path) -> Result<Record, Failure> {
    read_record_file(path).map_err(|error| {
        let kind = match error {
            ReadRecordError::Unreadable(_) => Kind::Environment,
            _ => Kind::Refused,
        };
        Failure::new(kind, format!("cannot take figures from '{}'", path.display())).because(&error)
    })
}

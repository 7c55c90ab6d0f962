//! `endseal-bench gate`

use std::path::PathBuf;

use endseal_bench::report::{Verdict, goals};
use serde_json::json;

use crate::Outcome;
use crate::failure::{Failure, Kind};
use crate::report::read;
use crate::run::wanted_suites;

/// Judge a run by the goals: exit code 1 if one is missed
///
/// A suite without figures fails: its goals were not judged. A goal is missed if the figure is
/// worse than its bound by more than `--tolerance`. A goal that is not decided or not measured
/// fails only with `--strict`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Record of a run
    #[arg(default_value = "bench-results/run.json")]
    run: PathBuf,
    /// Share of a bound by which a figure may be worse
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    tolerance: f64,
    /// Suites that the run must have, separated by commas [default: all]
    #[arg(long, value_name = "S,...", value_delimiter = ',')]
    suite: Vec<String>,
    /// Fail also if a goal is not decided or not measured
    #[arg(long)]
    strict: bool,
}

/// Reads a share from 0 to 1. A larger value, or NaN, would let every goal pass.
fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("from 0 to 1".into()) }
}

pub(crate) fn run(args: &Args, json: bool) -> Result<Outcome, Failure> {
    let record = read(&args.run)?;
    if !record.complete || record.environment.profile != "release" {
        let what =
            "this run is incomplete, or of a build that is not optimised: it decides nothing";
        return Err(Failure::new(Kind::Refused, what));
    }
    let wanted: Vec<&str> = wanted_suites(&args.suite)?.iter().map(|it| it.name).collect();
    let mut text = String::new();
    let mut failed = Vec::new();
    let mut absent = 0;
    for suite in
        wanted.iter().filter(|suite| !record.rows.iter().any(|row| row.case.suite == **suite))
    {
        text.push_str(&format!("{:16} the suite {suite}\n", "absent"));
        failed.push(format!("the suite {suite}: absent from this run"));
        absent += 1;
    }
    let mut all = goals(&record);
    all.retain(|(what, _)| {
        wanted.iter().any(|suite| what.strip_prefix(suite).is_some_and(|it| it.starts_with(':')))
    });
    for (what, verdict) in &all {
        let (word, fails) = match verdict {
            Verdict::Reached => ("reached".to_owned(), false),
            Verdict::NotDecided => ("not decided".to_owned(), args.strict),
            Verdict::Missed(by) => (format!("missed by {:.0} %", by * 100.0), *by > args.tolerance),
            Verdict::Failed => ("no figure".to_owned(), true),
            _ => ("not measured".to_owned(), args.strict),
        };
        text.push_str(&format!("{word:16} {what}\n"));
        failed.extend(fails.then(|| format!("{what}: {word}")));
    }
    let outcome = Outcome { text, json: json!({ "goals": all.len(), "failed": failed }) };
    let Some(first) = failed.first() else { return Ok(outcome) };
    let what = format!(
        "{} of {} goals and suites fail, the first: {first}",
        failed.len(),
        all.len() + absent
    );
    crate::print(&outcome, json)?;
    Err(Failure::new(Kind::Refused, what))
}

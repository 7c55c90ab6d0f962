//! `endseal-bench run`

use core::ops::ControlFlow;
use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use endseal_bench::case::{Case, OURS};
use endseal_bench::ours;
use endseal_bench::peers::{PEERS, PeerProgram};
use endseal_bench::record::{Arguments, Record, Skip};
use endseal_bench::run::Plan;
use endseal_bench::subject::Subject;
use endseal_bench::suite::{Extent, SUITES, Suite};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use crate::failure::{Failure, Kind};
use crate::{Outcome, results, shipped};

/// Name of the suite that starts the shipped program.
const S3: &str = "s3";

/// Measure and write run.json and report.html
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// One row of each table, in a few minutes
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Also cases that take long with slow peers
    #[arg(long)]
    full: bool,
    /// Suites, separated by commas [default: all]
    #[arg(long, value_name = "S,...", value_delimiter = ',')]
    suite: Vec<String>,
    /// Cases of them, separated by commas [default: all]
    #[arg(long, value_name = "C,...", value_delimiter = ',')]
    case: Vec<String>,
    /// Peers to compare with, separated by commas
    #[arg(long, value_name = "P,...", value_delimiter = ',')]
    peers: Vec<String>,
    /// Subjects to measure in addition to endseal, separated by commas [default: all]
    #[arg(long, value_name = "S,...", value_delimiter = ',')]
    subject: Vec<String>,
    /// Folder of the peers
    #[arg(long, value_name = "DIR", default_value = "peers")]
    peers_dir: PathBuf,
    /// Folder of the results
    #[arg(short, long, value_name = "DIR", default_value = "bench-results")]
    out: PathBuf,
    /// The shipped program, which s3 and nostr measure [default: endseal in this program's folder]
    #[arg(long, value_name = "PATH")]
    endseal: Option<PathBuf>,
    /// Fail if anything that was asked for is skipped: at once if a peer is missing
    #[arg(long)]
    strict: bool,
}

pub(crate) fn run(args: &Args, shows_progress: bool) -> Result<Outcome, Failure> {
    let extent = match (args.quick, args.full) {
        (true, _) => Extent::Quick,
        (_, true) => Extent::Full,
        _ => Extent::Default,
    };
    let suites = wanted_suites(&args.suite)?;
    let arguments = Arguments {
        suites: args.suite.clone(),
        cases: args.case.clone(),
        peers: args.peers.clone(),
        subjects: args.subject.clone(),
    };
    let plan = Plan { cases: wanted_cases(&args.case, &suites, extent)?, extent, arguments };
    let (mut subjects, skipped) = subjects(args, &suites)?;
    nothing_skipped(args, &skipped)?;
    results::prepare(&args.out)?;
    let endseal = shipped::path(args.endseal.as_deref())?;
    if plan.cases.iter().any(|case| case.suite == S3) {
        shipped::check(&endseal)?;
    }
    shipped::announce(&endseal, &args.peers_dir)?;
    let bar = bar(plan.cases.len(), shows_progress && io::stderr().is_terminal());
    let (mut saved, mut failure) = (Instant::now(), None);
    let record = endseal_bench::run::run(&plan, &mut subjects, skipped, &mut |index, record| {
        let case = &plan.cases[index];
        bar.set_position(index as u64);
        bar.set_message(format!("{}: {}", case.suite, case.describe()));
        // The record is saved after slow cases, not after each of the fast ones.
        if saved.elapsed().as_secs() >= 1 {
            saved = Instant::now();
            failure = results::write_record(&args.out, record).err();
        }
        if failure.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    if let Some(failure) = failure {
        return Err(failure);
    }
    results::write_record(&args.out, &record)?;
    results::write_report(&args.out, &record)?;
    nothing_skipped(args, &record.skipped)?;
    Ok(outcome(&args.out, &record))
}

fn nothing_skipped(args: &Args, skipped: &[Skip]) -> Result<(), Failure> {
    match skipped.first().filter(|_| args.strict) {
        None => Ok(()),
        Some(first) => {
            let what = format!("{} has no figures: {}", first.subject, first.reason);
            Err(Failure::new(Kind::Refused, what))
        }
    }
}

/// Returns the suites of these names, or all if none is named.
pub(crate) fn wanted_suites(names: &[String]) -> Result<Vec<&'static Suite>, Failure> {
    if names.is_empty() {
        return Ok(SUITES.iter().collect());
    }
    let known = SUITES.iter().map(|suite| suite.name);
    let find =
        |name: &String| Suite::find(name).ok_or_else(|| there_is_no("suite", name, known.clone()));
    names.iter().map(find).collect()
}

/// Returns the failure of a name that is unknown.
fn there_is_no<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    let known: Vec<&str> = known.collect();
    Failure::usage(format!("there is no {what} '{name}'"))
        .hint(format!("there are: {}", known.join(", ")))
}

fn wanted_cases(names: &[String], suites: &[&Suite], extent: Extent) -> Result<Vec<Case>, Failure> {
    let mut cases: Vec<Case> = suites.iter().flat_map(|suite| suite.cases(extent)).collect();
    if let Some(name) = names.iter().find(|name| !cases.iter().any(|case| case.case == **name)) {
        let known: BTreeSet<&str> = cases.iter().map(|case| case.case.as_str()).collect();
        return Err(there_is_no("case", name, known.into_iter()));
    }
    cases.retain(|case| names.is_empty() || names.contains(&case.case));
    Ok(cases)
}

/// Returns our subjects and those of the peers that can be started.
fn subjects(args: &Args, suites: &[&Suite]) -> Result<(Vec<Subject>, Vec<Skip>), Failure> {
    let mut subjects: Vec<_> = suites.iter().flat_map(|suite| ours::subjects(suite.name)).collect();
    let mut skipped = Vec::new();
    for name in &args.peers {
        let known = PEERS.iter().map(|peer| peer.name.as_str());
        let peer = PeerProgram::find(name).ok_or_else(|| there_is_no("peer", name, known))?;
        match peer.start(&args.peers_dir) {
            Ok(found) => subjects.extend(found),
            Err(why) => skipped.push(Skip::new(&peer.name, why.to_string())),
        }
    }
    let named = |name: &String| subjects.iter().any(|it| it.info.subject == *name);
    if let Some(name) = args.subject.iter().find(|name| !named(name)) {
        let known = subjects.iter().map(|it| it.info.subject.as_str());
        return Err(there_is_no("subject", name, known));
    }
    if !args.subject.is_empty() {
        subjects.retain(|it| it.info.subject == OURS || args.subject.contains(&it.info.subject));
    }
    Ok((subjects, skipped))
}

/// Creates the bar that shows how far the run is.
fn bar(total: usize, shows: bool) -> ProgressBar {
    let target = match shows {
        true => ProgressDrawTarget::stderr_with_hz(5),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(Some(total as u64), target);
    // The template is a constant; a mistake in it leaves indicatif's own style.
    let template = "{bar:30} {pos}/{len} {elapsed} left {eta} {msg}";
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

fn outcome(out: &Path, record: &Record) -> Outcome {
    let mut text = String::new();
    for ratio in &record.ratios {
        let interval =
            ratio.ci95.map_or("no interval".into(), |[low, high]| format!("[{low:.2}, {high:.2}]"));
        text.push_str(&format!(
            "{:40} {:8.2}x  {interval}  {} against {}\n",
            ratio.case.describe(),
            ratio.median,
            ratio.subject,
            ratio.against
        ));
    }
    for skip in &record.skipped {
        let case = skip.case.as_ref().map(|case| format!(" in {case}")).unwrap_or_default();
        text.push_str(&format!("skipped   {}{case}: {}\n", skip.subject, skip.reason));
    }
    text.push_str(&format!("written to {}\n", out.display()));
    let skipped = record.skipped.iter();
    let skipped = skipped.map(|skip| json!({ "subject": skip.subject, "reason": skip.reason }));
    let json = json!({
        "out": out.display().to_string(),
        "rows": record.rows.len(),
        "ratios": record.ratios.len(),
        "skipped": skipped.collect::<Vec<_>>(),
        "noise_floors": record.noise_floors,
    });
    Outcome { text, json }
}

//! `endseal-bench run`

use core::ops::ControlFlow;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use endseal_bench::peers::{PEERS, PeerProgram};
use endseal_bench::record::{Arguments, Record, Skip};
use endseal_bench::run::{OURS, Observer, Plan};
use endseal_bench::stations::{STATIONS, Station};
use endseal_bench::subject::Subject;
use endseal_bench::suite::{Case, Extent};
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
    let stations = wanted_stations(&args.suite)?;
    let arguments = Arguments {
        suites: args.suite.clone(),
        cases: args.case.clone(),
        peers: args.peers.clone(),
        subjects: args.subject.clone(),
    };
    let plan = Plan { cases: wanted_cases(&args.case, &stations, extent)?, extent, arguments };
    let (mut subjects, skipped) = subjects(args, &stations)?;
    nothing_skipped(args, &skipped)?;
    results::prepare(&args.out)?;
    let endseal = shipped::path(args.endseal.as_deref())?;
    if plan.cases.iter().any(|case| case.suite == S3) {
        shipped::check(&endseal)?;
    }
    shipped::announce(&endseal, &args.peers_dir)?;
    let mut observer = Watch::new(&args.out, shows_progress && io::stderr().is_terminal());
    let record = endseal_bench::run::run(&plan, &mut subjects, skipped, &mut observer);
    observer.bar.finish_and_clear();
    if let Some(failure) = observer.failure {
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

pub(crate) fn wanted_stations(suites: &[String]) -> Result<Vec<&'static Station>, Failure> {
    if suites.is_empty() {
        return Ok(STATIONS.iter().collect());
    }
    let find = |name: &String| {
        Station::find(name).ok_or_else(|| {
            let names: Vec<_> = STATIONS.iter().map(|station| station.suite.name).collect();
            Failure::usage(format!("there is no suite '{name}'"))
                .hint(format!("there are: {}", names.join(", ")))
        })
    };
    suites.iter().map(find).collect()
}

fn wanted_cases(
    names: &[String],
    stations: &[&Station],
    extent: Extent,
) -> Result<Vec<Case>, Failure> {
    let mut cases: Vec<Case> =
        stations.iter().flat_map(|station| station.suite.cases(extent)).collect();
    if let Some(name) = names.iter().find(|name| !cases.iter().any(|case| case.case == **name)) {
        let mut known: Vec<&str> = cases.iter().map(|case| case.case).collect();
        known.sort_unstable();
        known.dedup();
        return Err(Failure::usage(format!("there is no case '{name}'"))
            .hint(format!("in this extent of these suites there are: {}", known.join(", "))));
    }
    cases.retain(|case| names.is_empty() || names.iter().any(|name| case.case == name));
    Ok(cases)
}

/// Returns our subjects and those of the peers that can be started.
#[allow(clippy::type_complexity, reason = "two lists")]
fn subjects(
    args: &Args,
    stations: &[&Station],
) -> Result<(Vec<Box<dyn Subject>>, Vec<Skip>), Failure> {
    let mut subjects: Vec<_> = stations.iter().flat_map(|station| station.subjects()).collect();
    let mut skipped = Vec::new();
    for name in &args.peers {
        let unknown = || {
            let names: Vec<_> = PEERS.iter().map(|peer| peer.name).collect();
            Failure::usage(format!("there is no peer '{name}'"))
                .hint(format!("there are: {}", names.join(", ")))
        };
        let peer = PeerProgram::find(name).ok_or_else(unknown)?;
        match peer.start(&args.peers_dir) {
            Ok(found) => subjects.extend(found),
            Err(why) => skipped.push(Skip::new(peer.name, why)),
        }
    }
    let is = |it: &dyn Subject, name: &str| it.info().subject == name;
    let absent = |name: &&String| !subjects.iter().any(|it| is(it.as_ref(), name));
    if let Some(name) = args.subject.iter().find(absent) {
        let names: Vec<_> = subjects.iter().map(|it| it.info().subject.as_str()).collect();
        return Err(Failure::usage(format!("there is no subject '{name}'"))
            .hint(format!("with these peers there are: {}", names.join(", "))));
    }
    if !args.subject.is_empty() {
        let wanted =
            |it: &dyn Subject| is(it, OURS) || args.subject.iter().any(|name| is(it, name));
        subjects.retain(|it| wanted(it.as_ref()));
    }
    Ok((subjects, skipped))
}

/// Shows how far the run is, and keeps what is known in case it is interrupted.
struct Watch<'a> {
    out: &'a Path,
    bar: ProgressBar,
    started: Instant,
    failure: Option<Failure>,
}

impl<'a> Watch<'a> {
    fn new(out: &'a Path, shows: bool) -> Self {
        let target = if shows {
            ProgressDrawTarget::stderr_with_hz(5)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        // The template is a constant; a mistake in it leaves indicatif's own style.
        let template = "{bar:30} {pos}/{len} {elapsed} left {eta} {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { out, bar, started: Instant::now(), failure: None }
    }
}

impl Observer for Watch<'_> {
    fn case(&mut self, index: usize, total: usize, what: &str) {
        self.bar.set_length(total as u64);
        self.bar.set_position(index as u64);
        self.bar.set_message(what.to_owned());
    }

    fn partial(&mut self, record: &Record) -> ControlFlow<()> {
        // The record is saved after slow cases, not after each of the fast ones.
        if self.started.elapsed().as_secs() >= 1 {
            self.started = Instant::now();
            self.failure = results::write_record(self.out, record).err();
        }
        if self.failure.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn outcome(out: &Path, record: &Record) -> Outcome {
    let mut text = String::new();
    for ratio in &record.ratios {
        let params: Vec<_> =
            ratio.params.iter().map(|(name, value)| format!("{value} {name}")).collect();
        let interval =
            ratio.ci95.map_or("no interval".into(), |[low, high]| format!("[{low:.2}, {high:.2}]"));
        text.push_str(&format!(
            "{:9} {:32} {:8.2}x  {interval}  {} against {}\n",
            ratio.case,
            params.join(", "),
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

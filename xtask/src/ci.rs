//! Every check, the same here and on a server.

mod released;
mod steps;

use core::time::Duration;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use steps::{Job, Step};

use crate::assure::Count;

/// One setting for all steps, so that they share what they build; nobody debugs what a check built.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("CARGO_INCREMENTAL", "0"),
    ("CARGO_PROFILE_DEV_DEBUG", "0"),
    ("CARGO_PROFILE_TEST_DEBUG", "0"),
];

/// Names the kernels of `endseal-crypto` whose tests must not be skipped, separated by commas.
const REQUIRE: &str = "ENDSEAL_REQUIRE";

/// `cargo xtask ci`: whether no step failed.
pub(crate) fn command(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let options = Options::parse(arguments)?;
    let steps = steps::all(root)?;
    if let Some(name) = options.only.iter().find(|name| !steps.iter().any(|it| it.name == **name)) {
        return Err(format!("there is no step '{name}'; `cargo xtask ci --list` names them"));
    }
    if options.list {
        for step in &steps {
            println!("{:12} {}", step.name, step.purpose);
        }
        return Ok(true);
    }
    println!("{REQUIRE}={}", required_kernels());
    let wanted = |step: &&Step| options.only.is_empty() || options.only.contains(&step.name.into());
    let mut rows: Vec<Row> = Vec::new();
    for step in steps.iter().filter(wanted) {
        println!("\n== {}: {}", step.name, step.purpose);
        let start = Instant::now();
        let verdict = run(root, &step.jobs);
        let row = Row { name: step.name, verdict, time: start.elapsed() };
        println!("== {row}");
        let failed = row.verdict == Verdict::Failed;
        rows.push(row);
        if failed && !options.keep_going {
            break;
        }
    }
    let total: Duration = rows.iter().map(|row| row.time).sum();
    println!("\n== all steps");
    for row in &rows {
        println!("{row}");
    }
    println!("{:12} {:8} {:7.1} s", "total", "", total.as_secs_f64());
    Ok(rows.iter().all(|row| row.verdict != Verdict::Failed))
}

/// A step with programs built for release, which `cargo xtask long` runs.
pub(crate) struct Released(Step);

impl Released {
    /// All of them, in their order.
    pub(crate) fn all(root: &Path) -> impl Iterator<Item = Self> {
        released::all(root).into_iter().map(Self)
    }

    pub(crate) fn name(&self) -> String {
        format!("release: {}", self.0.purpose)
    }

    /// Runs it up to the first command that fails. Commands that cannot be run here do not count.
    pub(crate) fn run(&self, root: &Path) -> Count {
        let mut count = Count { done: 0, what: "commands".to_owned(), failures: 0 };
        for job in self.0.jobs.chunks(1) {
            match run(root, job) {
                Verdict::Skipped => continue,
                Verdict::Passed => count.done += 1,
                Verdict::Failed => {
                    return Count { done: count.done + 1, failures: 1, ..count };
                }
            }
        }
        count
    }
}

#[derive(Debug, Default, PartialEq)]
struct Options {
    list: bool,
    keep_going: bool,
    only: Vec<String>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--list" => options.list = true,
                "--keep-going" => options.keep_going = true,
                "--only" => {
                    let step = arguments.next().ok_or("--only needs the name of a step")?;
                    options.only.push(step.clone());
                }
                _ => return Err(format!("ci does not know '{argument}'")),
            }
        }
        Ok(options)
    }
}

struct Row {
    name: &'static str,
    verdict: Verdict,
    time: Duration,
}

impl core::fmt::Display for Row {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let verdict = match self.verdict {
            Verdict::Passed => "passed",
            Verdict::Skipped => "skipped",
            Verdict::Failed => "FAILED",
        };
        write!(formatter, "{:12} {verdict:8} {:7.1} s", self.name, self.time.as_secs_f64())
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    Passed,
    /// None of the jobs could be done here; the reason was printed.
    Skipped,
    Failed,
}

/// Runs the jobs of a step up to the first that fails.
fn run(root: &Path, jobs: &[Job]) -> Verdict {
    let mut verdict = Verdict::Skipped;
    for job in jobs {
        let done = match job {
            Job::Chore(chore) => chore(root).unwrap_or_else(|error| {
                println!("error: {error}");
                false
            }),
            Job::Program { words, environment } => spawn(root, words, environment),
            Job::Skip(reason) => {
                println!("skipped: {reason}");
                continue;
            }
        };
        if !done {
            return Verdict::Failed;
        }
        verdict = Verdict::Passed;
    }
    verdict
}

/// The caller's list, or the kernels that this CPU runs: a mistake in their detection fails then.
fn required_kernels() -> String {
    std::env::var(REQUIRE).unwrap_or_else(|_| own_kernels())
}

#[cfg(target_arch = "x86_64")]
fn own_kernels() -> String {
    macro_rules! cpu_has {
        ($($feature:tt),+) => { $(std::arch::is_x86_feature_detected!($feature))&&+ };
    }
    let kernels = [
        ("avx2", cpu_has!("avx2")),
        ("avx512", cpu_has!("avx512f", "avx512bw")),
        ("ifma", cpu_has!("avx512f", "avx512dq", "avx512ifma")),
        ("vaes", cpu_has!("avx512f", "avx512bw", "avx512vl", "avx2", "aes", "vaes", "vpclmulqdq")),
    ];
    let found = kernels.into_iter().filter(|(_, found)| *found);
    found.map(|(name, _)| name).collect::<Vec<_>>().join(",")
}

#[cfg(not(target_arch = "x86_64"))]
fn own_kernels() -> String {
    String::new()
}

/// Runs a program with its output going where ours goes: whoever reads ours reads the tests' too.
fn spawn(root: &Path, words: &[String], environment: &[(&'static str, &'static str)]) -> bool {
    println!("$ {}", words.join(" "));
    let Some((program, arguments)) = words.split_first() else { return false };
    // A program of ours is named from the root; a bare name is looked up as usual.
    let path = if program.contains('/') { root.join(program) } else { program.into() };
    let mut command = Command::new(path);
    command.current_dir(root).args(arguments);
    command.envs(ENVIRONMENT.iter().copied()).env(REQUIRE, required_kernels());
    command.envs(environment.iter().copied());
    match command.status() {
        Ok(status) if status.success() => true,
        Ok(status) => {
            println!("error: {program} ended with {status}");
            false
        }
        Err(error) => {
            println!("error: {program}: {error}");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Options, String> {
        let arguments: Vec<String> = arguments.iter().map(|it| (*it).to_owned()).collect();
        Options::parse(&arguments)
    }

    fn program(words: &[&str]) -> Job {
        let words = words.iter().map(|it| (*it).to_owned()).collect();
        Job::Program { words, environment: Vec::new() }
    }

    #[test]
    fn options_are_understood() {
        let options = parse(&["--keep-going", "--only", "fmt", "--only", "tidy"]).unwrap();
        assert_eq!(options.only, ["fmt", "tidy"]);
        assert!(options.keep_going && !options.list);
        assert!(parse(&["--list"]).unwrap().list);
        assert!(parse(&["--only"]).is_err());
        assert!(parse(&["fmt"]).is_err());
    }

    #[test]
    fn a_step_fails_with_its_first_job_that_fails() {
        let root = Path::new(".");
        assert_eq!(run(root, &[program(&["true"]), program(&["true"])]), Verdict::Passed);
        assert_eq!(run(root, &[program(&["false"]), program(&["true"])]), Verdict::Failed);
        assert_eq!(run(root, &[program(&["/no/such/program"])]), Verdict::Failed);
        assert_eq!(run(root, &[Job::Chore(|_| Ok(false))]), Verdict::Failed);
        assert_eq!(run(root, &[Job::Chore(|_| Err(String::new()))]), Verdict::Failed);
    }

    #[test]
    fn a_step_is_skipped_only_when_nothing_ran() {
        let root = Path::new(".");
        let skip = || Job::Skip("no reason".to_owned());
        assert_eq!(run(root, &[skip()]), Verdict::Skipped);
        assert_eq!(run(root, &[skip(), program(&["true"])]), Verdict::Passed);
    }

    #[test]
    fn an_unknown_step_is_refused() {
        let arguments = ["--only".to_owned(), "nothing".to_owned()];
        assert!(command(&crate::root(), &arguments).is_err());
    }
}

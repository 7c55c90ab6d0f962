//! `cargo xtask ci`: every check that a change must pass, in two parallel queues.

mod lanes;
mod step;
mod steps;

use core::time::Duration;
use std::path::Path;
use std::time::Instant;

pub(crate) use lanes::{Verdict, run_jobs};
pub(crate) use step::{Job, cargo, program};

use crate::record::{Full, FullRow, Record};
use crate::{git, target_folder, today};
use lanes::Row;
use step::Step;

/// Settings of all steps, so that they share what they build.
pub(crate) const ENVIRONMENT: &[(&str, &str)] = &[
    ("CARGO_INCREMENTAL", "0"),
    ("CARGO_PROFILE_DEV_DEBUG", "0"),
    ("CARGO_PROFILE_TEST_DEBUG", "0"),
    ("OPENSSL_NO_VENDOR", "1"),
];
/// Names the kernels of `endseal-crypto` whose tests must not be skipped, separated by commas.
const REQUIRE: &str = "ENDSEAL_REQUIRE";
/// Number of commits for which the result of a full check remains valid.
const COMMITS: usize = 200;
/// Files and folders after whose change all steps run.
const FOUNDATIONS: &[&str] = &["xtask", ".ci", ".cargo", "Cargo.toml", "rust-toolchain.toml"];

/// Runs steps and returns true if none failed.
///
/// Without options these are the steps whose files changed since the last full check, or all steps
/// if that was long ago. `--all` runs all of them and records the result.
pub(crate) fn command(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let options = Options::parse(arguments)?;
    let mut steps = steps::all(root)?;
    if let Some(name) = options.only.iter().find(|name| !steps.iter().any(|it| it.name == **name)) {
        return Err(format!("there is no step '{name}'; `cargo xtask ci --list` names them"));
    }
    if options.list {
        for step in &steps {
            println!("{:12} {}", step.name, step.purpose);
        }
        return Ok(true);
    }
    if options.all && git::is_changed(root)? {
        return Err("--all records a commit, but tracked files differ from it".to_owned());
    }
    let mut left_out = Vec::new();
    if !options.only.is_empty() {
        steps.retain(|step| options.only.iter().any(|name| name == step.name));
    } else if options.all {
        println!("all steps run, as --all says");
    } else {
        match changed(root, &Record::read(root)) {
            Ok(changed) => {
                let (kept, others) = steps.into_iter().partition(|step| step.depends_on(&changed));
                steps = kept;
                left_out = others;
            }
            Err(reason) => println!("all steps run: {reason}"),
        }
    }
    println!("{REQUIRE}={}", required_kernels());
    let start = Instant::now();
    let rows = lanes::run(root, &target_folder(root).join("ci"), &steps, options.keep_going);
    summarize(&rows, &left_out, start.elapsed());
    let passed = rows.iter().all(|row| row.verdict == Verdict::Passed);
    if options.all && passed {
        record(root, &rows)?;
    }
    Ok(passed)
}

/// Returns the files that changed since the last full check, or the reason why that check is no
/// longer valid.
fn changed(root: &Path, record: &Record) -> Result<Vec<String>, String> {
    let Some(Full { commit, date, .. }) = &record.full else {
        return Err("no full check is recorded".to_owned());
    };
    let commits = git::commits_since(root, commit)
        .map_err(|error| format!("the recorded full check is of another history ({error})"))?;
    if commits > COMMITS {
        return Err(format!("the last full check is {commits} commits old"));
    }
    let changed = git::changed_since(root, commit)?;
    if let Some(path) = changed.iter().find(|path| is_foundation(path)) {
        return Err(format!("{path} changed since the last full check"));
    }
    println!("full check: commit {commit} on {date}, {commits} commits ago");
    println!("steps run whose files are among the {} that changed since", changed.len());
    Ok(changed)
}

fn is_foundation(path: &str) -> bool {
    path.ends_with("Cargo.lock") || FOUNDATIONS.iter().any(|it| step::is_below(path, it))
}

fn summarize(rows: &[Row], left_out: &[Step], time: Duration) {
    println!("== all steps");
    rows.iter().for_each(|row| println!("{row}"));
    for step in left_out {
        println!("{:12} unchanged", step.name);
    }
    let passed = rows.iter().filter(|row| row.verdict == Verdict::Passed).count();
    println!("{:12} {:8} {:7.1} s", "total", "", time.as_secs_f64());
    println!("steps: {passed} passed, {} failed", rows.len() - passed);
}

fn record(root: &Path, rows: &[Row]) -> Result<(), String> {
    let row = |row: &Row| FullRow {
        step: row.name.to_owned(),
        tests: row.tests,
        seconds: row.time.as_secs(),
    };
    let full =
        Full { commit: git::head(root)?, date: today()?, rows: rows.iter().map(row).collect() };
    Record { full: Some(full), ..Record::read(root) }.write(root)
}

#[derive(Debug, Default, PartialEq)]
struct Options {
    list: bool,
    all: bool,
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
                "--all" => options.all = true,
                "--keep-going" => options.keep_going = true,
                "--only" => {
                    let step = arguments.next().ok_or("--only needs the name of a step")?;
                    options.only.push(step.clone());
                }
                _ => return Err(format!("ci does not know '{argument}'")),
            }
        }
        if options.all && !options.only.is_empty() {
            return Err("--all and --only exclude each other".to_owned());
        }
        Ok(options)
    }
}

/// Returns the caller's list, or the kernels that this CPU can run. A mistake in their detection
/// then fails the tests.
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
        ("fma", cpu_has!("avx2", "fma")),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn parse(arguments: &[&str]) -> Result<Options, String> {
        let arguments: Vec<String> = arguments.iter().map(|it| (*it).to_owned()).collect();
        Options::parse(&arguments)
    }

    #[test]
    fn options_are_understood() {
        let options = parse(&["--keep-going", "--only", "fmt", "--only", "tidy"]).unwrap();
        assert_eq!(options.only, ["fmt", "tidy"]);
        assert!(options.keep_going && !options.list);
        assert!(parse(&["--list"]).unwrap().list);
        assert!(parse(&["--only"]).is_err());
        assert!(parse(&["--all", "--only", "fmt"]).is_err());
        assert!(parse(&["fmt"]).is_err());
    }

    #[test]
    fn an_unknown_step_is_refused() {
        let arguments = ["--only".to_owned(), "nothing".to_owned()];
        assert!(command(&crate::root(), &arguments).is_err());
    }

    #[test]
    fn without_a_recorded_full_check_all_steps_run() {
        let reason = changed(Scratch::with(&[]).path(), &Record::default()).unwrap_err();
        assert!(reason.contains("no full check"), "{reason}");
    }

    #[test]
    fn foundations_are_the_tools_and_every_lock_file() {
        for path in ["xtask/src/main.rs", ".ci/run", "Cargo.toml", "fuzz/Cargo.lock"] {
            assert!(is_foundation(path), "{path}");
        }
        for path in ["crates/endseal-hub/src/lib.rs", "xtasks", "crates/endseal-hub/Cargo.toml"] {
            assert!(!is_foundation(path), "{path}");
        }
    }
}

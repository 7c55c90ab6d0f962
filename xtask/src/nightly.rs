//! `cargo xtask nightly`: checks that take too long for each change.
//!
//! Each result is written to `docs/assurance.md` as soon as the check ends. A run that was stopped
//! continues with the next check, because a check with a result for the present commit is not run
//! again.

mod checks;

use core::time::Duration;
use std::fs;
use std::path::Path;
use std::time::Instant;

use crate::ci::{Verdict, run_jobs};
use crate::count::Count;
use crate::record::{NightlyRow, Record};
use crate::{git, target_folder, today};
use checks::Check;

/// Runs the checks and returns true if all that ran passed.
pub(crate) fn command(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let options = Options::parse(arguments)?;
    let checks = checks::all(root, options.fuzz_minutes)?;
    let checks: Vec<Check> = checks.into_iter().filter(|check| options.wants(check)).collect();
    if checks.is_empty() {
        return Err("no check has such a name; `cargo xtask nightly --list` names them".to_owned());
    }
    if options.list {
        checks.iter().for_each(|check| println!("{}", check.name));
        return Ok(true);
    }
    let commit: String = git::head(root)?.chars().take(12).collect();
    let start = Instant::now();
    let mut passed = true;
    for check in &checks {
        let mut record = Record::read(root);
        if record.nightly.iter().any(|row| row.check == check.name && row.commit == commit) {
            println!("{}: has a result for this commit", check.name);
            continue;
        }
        if options.stop_after.is_some_and(|limit| start.elapsed() >= limit) {
            println!("{}: not started, the time is over", check.name);
            continue;
        }
        let row = run(root, &target_folder(root).join("nightly"), check, &commit)?;
        println!(
            "{}: {} {}, {} failures ({} s)",
            row.check, row.count.done, row.count.what, row.count.failures, row.seconds
        );
        passed &= row.count.failures == 0;
        record.nightly.retain(|it| it.check != row.check);
        record.nightly.push(row);
        record.nightly.sort_by(|a, b| a.check.cmp(&b.check));
        record.write(root)?;
    }
    Ok(passed)
}

fn run(root: &Path, logs: &Path, check: &Check, commit: &str) -> Result<NightlyRow, String> {
    let log = logs.join(format!("{}.log", check.name.replace([' ', '/'], "-")));
    println!("== {}, output in {}", check.name, log.display());
    let start = Instant::now();
    let verdict = run_jobs(root, &check.jobs, check.minutes, Some(&log), &|| false);
    let text = fs::read(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let commands = Count { done: check.jobs.len(), what: "commands".to_owned(), failures: 0 };
    let mut count = counted(&String::from_utf8_lossy(&text)).unwrap_or(commands);
    if let Verdict::Failed(reason) = verdict {
        println!("{}: {reason}", check.name);
        count.failures = count.failures.max(1);
    } else if count.done == 0 {
        println!("{}: nothing was checked", check.name);
        count.failures = 1;
    }
    Ok(NightlyRow {
        check: check.name.clone(),
        commit: commit.to_owned(),
        date: today()?,
        count,
        seconds: start.elapsed().as_secs(),
    })
}

/// Returns the count that the programs of a check printed, if they printed one.
fn counted(output: &str) -> Option<Count> {
    inputs(output).or_else(|| Count::of_tests(output)).or_else(|| Count::of_pytest(output))
}

/// Returns the number of inputs that a fuzzer has tried.
fn inputs(output: &str) -> Option<Count> {
    let name = "stat::number_of_executed_units:";
    let line = output.lines().find_map(|line| line.strip_prefix(name))?;
    let done = line.trim().parse().ok()?;
    Some(Count { done, what: "inputs".to_owned(), failures: 0 })
}

#[derive(Debug, PartialEq)]
struct Options {
    list: bool,
    only: Vec<String>,
    fuzz_minutes: u64,
    stop_after: Option<Duration>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options =
            Self { list: false, only: Vec::new(), fuzz_minutes: 10, stop_after: None };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut minutes = || {
                let value = arguments.next().and_then(|it| it.parse().ok()).filter(|it| *it > 0);
                value.ok_or_else(|| format!("{argument} needs a number of minutes"))
            };
            match argument.as_str() {
                "--list" => options.list = true,
                "--fuzz" => options.fuzz_minutes = minutes()?,
                "--stop-after" => {
                    options.stop_after = Some(Duration::from_secs(60 * minutes()?));
                }
                "--only" => {
                    let name = arguments.next().ok_or("--only needs the name of a check")?;
                    options.only.push(name.clone());
                }
                _ => return Err(format!("nightly does not know '{argument}'")),
            }
        }
        Ok(options)
    }

    fn wants(&self, check: &Check) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| check.name.starts_with(name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ci::program;
    use crate::scratch::Scratch;

    #[test]
    fn options_are_understood() {
        let parse = |words: &[&str]| {
            Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(parse(&[]).unwrap().fuzz_minutes, 10);
        assert_eq!(parse(&["--fuzz", "2", "--only", "miri"]).unwrap().fuzz_minutes, 2);
        let limit = parse(&["--stop-after", "30"]).unwrap().stop_after;
        assert_eq!(limit, Some(Duration::from_secs(1800)));
        assert!(parse(&["--fuzz", "0"]).is_err());
        assert!(parse(&["--fuzz"]).is_err() && parse(&["miri"]).is_err());
    }

    #[test]
    fn executed_inputs_are_read() {
        let output = "stat::number_of_executed_units: 1234\nstat::x: 1\n";
        assert_eq!(counted(output).unwrap().done, 1234);
        assert_eq!(counted("Done"), None);
    }

    #[test]
    fn a_check_that_fails_or_checks_nothing_is_a_failure() {
        let failures = |words: &str| {
            let check = Check { name: "a".to_owned(), minutes: 1, jobs: vec![program(words)] };
            let scratch = Scratch::with(&[]);
            run(scratch.path(), scratch.path(), &check, "0").unwrap().count.failures
        };
        assert_eq!(failures("true"), 0);
        assert_eq!(failures("false"), 1);
        assert_eq!(failures("echo test result: ok. 0 passed; 0 failed;"), 1);
        assert_eq!(failures("echo test result: ok. 2 passed; 0 failed;"), 0);
    }
}

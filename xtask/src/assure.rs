//! `cargo xtask assure`: the short forms of the checks that no other step has, in at most eight
//! minutes.
//!
//! Each prints one line: what, how many, failures. A missing tool is a failure, because a check
//! that did not run has found nothing. `.ci/run` installs the tools of all but Miri, which only
//! `cargo xtask long` runs.

mod disassembly;
pub(crate) mod miri;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Result of a check.
pub(crate) struct Count {
    pub(crate) done: usize,
    pub(crate) what: String,
    pub(crate) failures: usize,
}

/// Where checks run, and with what environment: that of the caller's other builds, to share them.
pub(crate) struct Place<'a> {
    pub(crate) root: &'a Path,
    pub(crate) environment: &'a [(&'a str, &'a str)],
}

impl Place<'_> {
    /// Cargo in the root, with words separated by single blanks.
    fn cargo(&self, words: &str) -> Command {
        let mut command = Command::new("cargo");
        command.args(words.split(' ')).current_dir(self.root);
        command.envs(self.environment.iter().copied());
        command
    }
}

struct Check {
    name: &'static str,
    run: fn(&Place<'_>) -> Result<Count, String>,
}

const CHECKS: &[Check] = &[
    Check { name: "limb bounds", run: limb_bounds },
    Check { name: "disassembly", run: disassembly::check },
    Check { name: "constant time", run: constant_time },
    Check { name: "corpus", run: corpus },
    Check { name: "miri", run: miri::short },
];

/// Runs all checks, or those that `arguments` name; true if none failed.
pub(crate) fn command(root: &Path, arguments: &[String]) -> Result<bool, String> {
    run(&Place { root, environment: &[] }, arguments)
}

/// As [`command`], elsewhere.
pub(crate) fn run(place: &Place<'_>, arguments: &[String]) -> Result<bool, String> {
    if let Some(name) = arguments.iter().find(|name| !CHECKS.iter().any(|it| it.name == **name)) {
        let names: Vec<_> = CHECKS.iter().map(|check| check.name).collect();
        return Err(format!("there is no check '{name}'; there are: {}", names.join(", ")));
    }
    let mut passed = true;
    let mut lines = Vec::new();
    for check in CHECKS {
        if !arguments.is_empty() && !arguments.iter().any(|name| name == check.name) {
            continue;
        }
        let start = Instant::now();
        let (line, right) = match (check.run)(place) {
            Ok(Count { done, what, failures }) => {
                // Nothing done is nothing found out.
                let right = failures == 0 && done > 0;
                (format!("{done} {what}, {failures} failures"), right)
            }
            Err(error) => (format!("0 done, 1 failure: {error}"), false),
        };
        lines.push(format!("{}: {line} ({:.0} s)", check.name, start.elapsed().as_secs_f64()));
        passed &= right;
    }
    lines.iter().for_each(|line| println!("{line}"));
    Ok(passed)
}

/// The field arithmetic on intervals. Without AVX-512 IFMA the tests of the vector kernels do
/// nothing; `ENDSEAL_REQUIRE` makes that a failure.
fn limb_bounds(place: &Place<'_>) -> Result<Count, String> {
    let words = "test --package endseal-crypto --lib --locked --quiet -- bounds";
    let output = output_of(&mut place.cargo(words))?;
    tests_in(&output).ok_or_else(|| format!("no result in:\n{output}"))
}

/// Secrets marked as undefined, under valgrind. The program has its own controls.
fn constant_time(place: &Place<'_>) -> Result<Count, String> {
    let folder = place.root.join("tests/constant-time");
    // Its configuration is read from the folder in which cargo is started.
    let built = Command::new("cargo")
        .args(["build", "--release", "--locked", "--quiet"])
        .current_dir(&folder)
        .env_remove("CARGO_TARGET_DIR")
        .status();
    if !built.map_err(|error| format!("cargo: {error}"))?.success() {
        return Err("tests/constant-time was not built".to_owned());
    }
    let output = output_of(
        Command::new("valgrind")
            .args(["--quiet", "--suppressions=declared.supp"])
            .arg("target/release/endseal-constant-time")
            .current_dir(&folder),
    )?;
    let count =
        summary_in(&output, "constant time").ok_or_else(|| format!("valgrind:\n{output}"))?;
    if count.failures > 0 {
        println!("{output}");
    }
    Ok(count)
}

/// The kept inputs of all fuzz targets, by a program that needs no nightly compiler.
fn corpus(place: &Place<'_>) -> Result<Count, String> {
    let words = "run --locked --quiet --manifest-path fuzz/Cargo.toml --bin replay";
    let mut command = place.cargo(words);
    // It shares what the workspace's tests have built.
    command.env("CARGO_TARGET_DIR", place.root.join("target"));
    let output = output_of(&mut command)?;
    let count = summary_in(&output, "corpus").ok_or_else(|| format!("no result in:\n{output}"))?;
    if count.failures > 0 {
        println!("{output}");
    }
    Ok(count)
}

/// Text that the program wrote to both streams, whatever its verdict.
pub(crate) fn output_of(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name} is needed: {error}"))?;
    let [out, err] =
        [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    Ok(format!("{out}{err}"))
}

/// The counts of a line `name: N things, M failures`.
fn summary_in(output: &str, name: &str) -> Option<Count> {
    let line = output.lines().rev().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))?;
    let (done, failures) = line.split_once(", ")?;
    let (done, what) = done.split_once(' ')?;
    let failures = failures.strip_suffix(" failures")?.parse().ok()?;
    Some(Count { done: done.parse().ok()?, what: what.to_owned(), failures })
}

/// The sum of all lines `test result: … N passed; M failed; …`.
pub(crate) fn tests_in(output: &str) -> Option<Count> {
    let mut count = Count { done: 0, what: "tests".to_owned(), failures: 0 };
    let mut found = false;
    for line in output.lines().filter(|line| line.starts_with("test result:")) {
        let number = |unit: &str| {
            let before = line.split_once(unit)?.0.trim_end();
            before.rsplit(' ').next()?.parse::<usize>().ok()
        };
        let (passed, failed) = (number("passed")?, number("failed")?);
        count.done += passed + failed;
        count.failures += failed;
        found = true;
    }
    found.then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_read() {
        let output = "ok a: 0 reports\nconstant time: 15 cases, 2 failures\n==1== end\n";
        let count = summary_in(output, "constant time").unwrap();
        assert_eq!((count.done, count.what.as_str(), count.failures), (15, "cases", 2));
        assert!(summary_in("constant time: many\n", "constant time").is_none());
    }

    #[test]
    fn results_of_tests_are_summed() {
        let output = "test result: ok. 4 passed; 0 failed; 1 ignored\n\
                      test result: FAILED. 2 passed; 3 failed; 0 ignored\n";
        let count = tests_in(output).unwrap();
        assert_eq!((count.done, count.failures), (9, 3));
        assert!(tests_in("error: could not compile").is_none());
    }

    #[test]
    fn an_unknown_check_is_refused() {
        assert!(command(Path::new("."), &["nothing".to_owned()]).is_err());
    }

    #[test]
    fn a_missing_tool_is_an_error() {
        assert!(output_of(&mut Command::new("/no/such/program")).is_err());
    }
}

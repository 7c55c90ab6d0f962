//! `cargo xtask long`: what takes too long for each change. Its result is committed as
//! `docs/assurance.md`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::assure::{self, Count, miri, output_of};
use crate::ci::Released;
use crate::workspace;

const REPORT: &str = "docs/assurance.md";
const TARGETS: &str = "fuzz/fuzz_targets";
const MINUTES: u64 = 10;
/// More is a fault: the limits of the formats keep memory small.
const MEMORY_MB: u32 = 2048;

/// Tests of a crate that do more under an environment variable.
struct Deepened {
    name: &'static str,
    variable: (&'static str, &'static str),
    /// Arguments of cargo.
    words: &'static str,
}

/// A crate adds its line here.
const DEEPENED: &[Deepened] = &[Deepened {
    name: "faults at every read of the store",
    variable: ("ENDSEAL_LONG", "1"),
    words: "test --locked --package endseal-store --test it media::",
}];

/// Foreign clients and servers of S3: the name of the step, and arguments of `tests/s3/run`.
const S3: &[(&str, &str)] = &[
    ("S3 clients with encrypted names", "--quick --names"),
    ("S3 clients", "--all --full --backend versitygw --minio"),
    ("S3 soak before MinIO", "--soak 20 --minio"),
    ("S3 soak before versitygw", "--soak 20"),
];

struct Options {
    minutes: u64,
    only: Vec<String>,
}

struct Row {
    name: String,
    count: Count,
    seconds: u64,
}

pub(crate) fn command(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let options = Options::parse(arguments)?;
    let mut rows = Vec::new();
    let mut run = |name: &str, check: &dyn Fn() -> Result<Count, String>| {
        if !options.only.is_empty() && !options.only.iter().any(|it| it == name) {
            return;
        }
        let start = Instant::now();
        let count = check().unwrap_or_else(|error| {
            println!("{name}: {error}");
            Count { done: 0, what: "done".to_owned(), failures: 1 }
        });
        let row = Row { name: name.to_owned(), count, seconds: start.elapsed().as_secs() };
        println!("{}", row.line());
        rows.push(row);
    };
    for target in targets(root)? {
        run(&format!("fuzz {target}"), &|| fuzz(root, &target, options.minutes));
    }
    run("packages by themselves", &|| packages(root));
    run("miri", &|| miri::long(root));
    for step in Released::all(root) {
        run(&step.name(), &|| Ok(step.run(root)));
    }
    for step in DEEPENED {
        run(step.name, &|| deepened(root, step));
    }
    for (name, words) in S3 {
        run(name, &|| s3(root, words));
    }
    if rows.is_empty() {
        return Err("no step has such a name".to_owned());
    }
    let passed = rows.iter().all(|row| row.count.failures == 0 && row.count.done > 0);
    if options.only.is_empty() {
        let path = root.join(REPORT);
        let text = report(root, &rows, options.minutes)?;
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(passed)
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self { minutes: MINUTES, only: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let value = || format!("{argument} needs a value");
            match argument.as_str() {
                "--minutes" => {
                    let minutes =
                        arguments.next().and_then(|it| it.parse().ok()).filter(|it| *it > 0);
                    options.minutes = minutes.ok_or_else(value)?;
                }
                "--only" => options.only.push(arguments.next().ok_or_else(value)?.clone()),
                _ => return Err(format!("long does not know '{argument}'")),
            }
        }
        Ok(options)
    }
}

impl Row {
    fn line(&self) -> String {
        let Count { done, what, failures } = &self.count;
        format!("{}: {done} {what}, {failures} failures ({} s)", self.name, self.seconds)
    }
}

fn targets(root: &Path) -> Result<Vec<String>, String> {
    let folder = root.join(TARGETS);
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".rs").map(str::to_owned))
        .collect();
    names.sort();
    Ok(names)
}

/// One target from its kept corpus. New inputs go to `fuzz/found/`, crashes to `fuzz/artifacts/`.
fn fuzz(root: &Path, target: &str, minutes: u64) -> Result<Count, String> {
    let folder = root.join("fuzz");
    let found = folder.join("found").join(target);
    fs::create_dir_all(&found).map_err(|error| format!("{}: {error}", found.display()))?;
    let kept = root.join("target/fuzz-kept").join(target);
    let unpack = "run --locked --quiet --manifest-path fuzz/Cargo.toml --bin replay -- unpack";
    let unpacked = Command::new("cargo")
        .args(unpack.split(' '))
        .arg(target)
        .arg(&kept)
        .current_dir(root)
        .env("CARGO_TARGET_DIR", root.join("target"))
        .status();
    if !unpacked.map_err(|error| format!("cargo: {error}"))?.success() {
        return Err("its corpus was not unpacked".to_owned());
    }
    let output = output_of(
        Command::new("cargo")
            .arg(format!("+{}", miri::NIGHTLY))
            .args(["fuzz", "run", "--fuzz-dir", ".", "--features", "libfuzzer", target])
            .arg(&found)
            .arg(&kept)
            .arg("--")
            .arg(format!("-max_total_time={}", minutes * 60))
            .arg(format!("-rss_limit_mb={MEMORY_MB}"))
            .args(["-timeout=10", "-print_final_stats=1"])
            .current_dir(&folder)
            // SQLite in one file has two globals of one name.
            .env("ASAN_OPTIONS", "detect_odr_violation=0")
            .env_remove("RUSTUP_TOOLCHAIN"),
    )?;
    let executed = executed_in(&output).ok_or_else(|| format!("no result in:\n{output}"))?;
    let failures = usize::from(output.contains("SUMMARY: "));
    if failures > 0 {
        println!("{output}");
    }
    Ok(Count { done: executed, what: "inputs".to_owned(), failures })
}

fn executed_in(output: &str) -> Option<usize> {
    let line = output.lines().find_map(|it| it.strip_prefix("stat::number_of_executed_units:"))?;
    line.trim().parse().ok()
}

/// Each package with its own features: a call for all unites them and hides a missing one.
fn packages(root: &Path) -> Result<Count, String> {
    let rows = workspace::rows(root)?;
    let names: Vec<&String> = rows.iter().flat_map(|row| &row.crates).collect();
    let mut failures = 0;
    for name in &names {
        let mut check = Command::new("cargo");
        check.args(["clippy", "--all-targets", "--locked", "--quiet", "--package", name]);
        check.args(["--", "-D", "warnings"]).current_dir(root);
        let status = check.status().map_err(|error| format!("cargo: {error}"))?;
        if !status.success() {
            println!("error: {name}");
            failures += 1;
        }
    }
    Ok(Count { done: names.len(), what: "packages".to_owned(), failures })
}

fn deepened(root: &Path, step: &Deepened) -> Result<Count, String> {
    let mut command = Command::new("cargo");
    command.args(step.words.split(' ')).current_dir(root).env(step.variable.0, step.variable.1);
    let output = output_of(&mut command)?;
    assure::tests_in(&output).ok_or_else(|| format!("no result in:\n{output}"))
}

fn s3(root: &Path, words: &str) -> Result<Count, String> {
    let mut build = Command::new("cargo");
    build.args(["build", "--release", "--locked", "-p", "endseal-cli"]).current_dir(root);
    if !build.status().map_err(|error| format!("cargo: {error}"))?.success() {
        return Err("endseal was not built".to_owned());
    }
    let mut tests = Command::new("tests/s3/run");
    tests.args(["--proxy-bin", "target/release/endseal"]).args(words.split(' '));
    let output = output_of(tests.current_dir(root))?;
    let count = pytest_in(&output).ok_or_else(|| format!("no result in:\n{output}"))?;
    if count.failures > 0 {
        println!("{output}");
    }
    Ok(count)
}

/// The counts in the last line of pytest: `== 2 failed, 3 passed, 1 skipped in 4.56s ==`.
fn pytest_in(output: &str) -> Option<Count> {
    let line = output.lines().rev().find(|line| line.contains(" in ") && line.ends_with('='))?;
    let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let number = |name: &str| {
        let counted = words.windows(2).filter(|pair| pair[1].trim_end_matches('s') == name);
        counted.filter_map(|pair| pair[0].parse::<usize>().ok()).sum::<usize>()
    };
    let failures = number("failed") + number("error");
    Some(Count { done: number("passed") + failures, what: "tests".to_owned(), failures })
}

fn report(root: &Path, rows: &[Row], minutes: u64) -> Result<String, String> {
    let git = |words: &str| {
        let output = Command::new("git").args(words.split(' ')).current_dir(root).output();
        let output = output.map_err(|error| format!("git: {error}"))?;
        Ok::<_, String>(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let (commit, date) = (git("rev-parse --short=12 HEAD")?, git("log -1 --format=%cs")?);
    let mut text = format!(
        "# Last run of `cargo xtask long`\n\nCommit {commit} of {date}, {minutes} minutes for each fuzz \
         target. Written by the program. CI runs short\nforms of most of it on each change.\n\n\
         | check | done | | failures | seconds |\n|---|---|---|---|---|\n"
    );
    for Row { name, count: Count { done, what, failures }, seconds } in rows {
        text.push_str(&format!("| {name} | {done} | {what} | {failures} | {seconds} |\n"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn options_are_understood() {
        let parse = |words: &[&str]| {
            Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(parse(&[]).unwrap().minutes, MINUTES);
        assert_eq!(parse(&["--minutes", "2", "--only", "miri"]).unwrap().minutes, 2);
        assert!(parse(&["--minutes", "0"]).is_err());
        assert!(parse(&["--minutes"]).is_err() && parse(&["miri"]).is_err());
    }

    #[test]
    fn targets_are_the_files_in_their_folder() {
        let scratch = Scratch::with(&[
            ("fuzz/fuzz_targets/b.rs", ""),
            ("fuzz/fuzz_targets/a.rs", ""),
            ("fuzz/fuzz_targets/notes.md", ""),
        ]);
        assert_eq!(targets(scratch.path()).unwrap(), ["a", "b"]);
    }

    #[test]
    fn results_of_pytest_are_read() {
        let read = |line: &str| pytest_in(line).map(|count| (count.done, count.failures));
        let good = "== 645 passed, 32 skipped, 15 xfailed in 512.34s (0:08:32) ==\n";
        assert_eq!(read(good), Some((645, 0)));
        let bad = "FAILED x\n== 2 failed, 3 passed, 1 error in 4.56s ==\n";
        assert_eq!(read(bad), Some((6, 3)));
        assert_eq!(read("= 1 passed, 2 errors in 1.0s ="), Some((3, 2)));
        assert_eq!(read("ImportError"), None);
    }

    #[test]
    fn executed_inputs_are_read() {
        assert_eq!(executed_in("stat::number_of_executed_units: 1234\nstat::x: 1\n"), Some(1234));
        assert_eq!(executed_in("Done"), None);
    }
}

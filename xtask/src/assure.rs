//! `cargo xtask assure`: checks of the cryptographic code that neither the compiler nor the tests
//! make.
//!
//! Each prints one line: what it counted, how many, and how many failures. A missing tool is a
//! failure, because a check that did not run has found nothing.

mod disassembly;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::ci::ENVIRONMENT;
use crate::count::Count;
use crate::target_folder;

struct Check {
    name: &'static str,
    run: fn(&Path) -> Result<Count, String>,
}

const CHECKS: &[Check] = &[
    Check { name: "bounds", run: limb_bounds },
    Check { name: "disassembly", run: disassembly::check },
    Check { name: "constant-time", run: constant_time },
    Check { name: "corpus", run: corpus },
];

/// Runs all checks, or those that `arguments` name; returns true if none failed.
pub(crate) fn command(root: &Path, arguments: &[String]) -> Result<bool, String> {
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
        let (line, right) = match (check.run)(root) {
            Ok(Count { done, what, failures }) => {
                // A check that did nothing has found nothing out, so it fails.
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

/// Checks the field arithmetic on intervals. Without AVX-512 IFMA the tests of the vector kernels
/// do nothing; `ENDSEAL_REQUIRE` makes that a failure.
fn limb_bounds(root: &Path) -> Result<Count, String> {
    let words = "test --package endseal-crypto --lib --locked --quiet -- bounds";
    let output = output_of(&mut cargo(root, words))?;
    Count::of_tests(&output).ok_or_else(|| format!("no result in:\n{output}"))
}

/// Runs the cases with secrets marked as undefined under valgrind. The program has controls of its
/// own.
fn constant_time(root: &Path) -> Result<Count, String> {
    let folder = root.join("tests/constant-time");
    // Cargo reads the configuration of the folder in which it is started.
    let built = Command::new("cargo")
        .args(["build", "--release", "--locked", "--quiet"])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
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
    let count = Count::of_summary(&output, "constant time")
        .ok_or_else(|| format!("valgrind:\n{output}"))?;
    if count.failures > 0 {
        println!("{output}");
    }
    Ok(count)
}

/// Replays the kept inputs of all fuzz targets, by a program that needs no nightly compiler.
fn corpus(root: &Path) -> Result<Count, String> {
    let words = "run --locked --quiet --manifest-path fuzz/Cargo.toml --bin replay";
    let output = output_of(&mut cargo(root, words))?;
    let count =
        Count::of_summary(&output, "corpus").ok_or_else(|| format!("no result in:\n{output}"))?;
    if count.failures > 0 {
        println!("{output}");
    }
    Ok(count)
}

/// Returns a call of Cargo in the root, with words separated by single blanks and the settings of
/// `ci`.
fn cargo(root: &Path, words: &str) -> Command {
    let mut command = Command::new("cargo");
    command.args(words.split(' ')).current_dir(root).envs(ENVIRONMENT.iter().copied());
    command.env("CARGO_TARGET_DIR", target_folder(root));
    command
}

/// Runs a program and returns what it wrote to both streams, whatever its exit code.
fn output_of(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name} is needed: {error}"))?;
    let [out, err] =
        [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    Ok(format!("{out}{err}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_check_is_refused() {
        assert!(command(Path::new("."), &["nothing".to_owned()]).is_err());
    }

    #[test]
    fn a_missing_tool_is_an_error() {
        assert!(output_of(&mut Command::new("/no/such/program")).is_err());
    }
}

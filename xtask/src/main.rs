//! The project's own checks and generators: `cargo xtask help` lists them.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what this program does")]
#![allow(clippy::std_instead_of_alloc, reason = "there is nothing here without std")]

mod assure;
mod ci;
mod count;
mod firmware;
mod gate;
mod git;
mod group;
mod nightly;
mod package;
mod peers;
mod readme;
mod record;
mod scratch;
mod source;
mod tidy;
mod tree;
mod vectors;
mod workspace;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask <COMMAND>

Commands:
  ci                 Run the steps whose files changed since the last full check, in two lanes,
                     up to the first failure
      --all              Run all steps and record the result in docs/assurance.md
      --list             Name the steps and run none
      --only STEP        Run this step alone; may be repeated
      --keep-going       Run the other steps after a failed one
  nightly            Run the checks that take hours: fuzzing, Miri, ignored tests, kills, release
                     builds. Each result goes to docs/assurance.md; a check that has a result for
                     this commit is not run again
      --list             Name the checks and run none
      --only CHECK       Run the checks whose names begin with this; may be repeated
      --fuzz MINUTES     Minutes for each fuzz target [default: 10]
      --stop-after MINUTES  Start no check after this time
  tidy               Check the house rules that neither rustfmt nor clippy knows
  assure [CHECK...]  Limb bounds, disassembly, constant time and fuzz corpus of the kernels
  firmware           Run the Nostr core on three instruction sets in QEMU; compare with
                     docs/bench/firmware.tsv
      --isa NAMES        Of rv32, cortex-m4, lx7, separated by commas [default: all that can run]
      --json             Only the measurements on stdout, one JSON object a line
      --write            Write the measurements there
  gate               Count the instructions of kernels and compare with docs/bench/instructions.tsv
      --write            Write the counts there
  package            Pack the published crates, and compile what was packed
  peers [NAME...]    Install and build what the benchmark measures beside [default: all]
  readme             Write the table of README.md from the run in docs/bench
      --check            Only compare it
  vectors            Write the test vectors anew
      --check            Only compare them with those in vectors/
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    if let Err(error) = group::end_all_when_interrupted() {
        eprintln!("error: {error}");
        return ExitCode::from(2);
    }
    let outcome = match name.as_str() {
        "assure" => assure::command(&root(), rest),
        "ci" => ci::command(&root(), rest),
        "firmware" => firmware::command(&root(), rest),
        "gate" => gate::command(&root(), rest),
        "nightly" => nightly::command(&root(), rest),
        "package" => package::command(&root(), rest),
        "peers" => peers::command(&root(), rest),
        "readme" => readme::command(&root(), rest),
        "tidy" => tidy::command(&root(), rest),
        "vectors" => vectors::command(&root(), rest),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(true)
        }
        _ => Err(format!("unknown command '{name}'\n\n{USAGE}")),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// Returns the workspace's root: the folder above this package. `cargo run` sets its path at run
/// time; the path at compile time belongs to another checkout if two share a target folder.
fn root() -> PathBuf {
    let told = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let package = told.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    package.parent().map_or_else(|| package.clone(), Path::to_path_buf)
}

/// Returns Cargo's target folder: that of the environment, or `target` in the root.
fn target_folder(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Returns today's date in UTC, such as `2026-11-28`.
fn today() -> Result<String, String> {
    let output = std::process::Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
    let output = output.map_err(|error| format!("date: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

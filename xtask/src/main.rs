//! The project's own chores: `cargo xtask tidy`, `cargo xtask ci`, `cargo xtask assure`,
//! `cargo xtask firmware`, `cargo xtask gate`, `cargo xtask long`, `cargo xtask vectors`,
//! `cargo xtask peers`, `cargo xtask readme`.
//!
//! Standard library only, so that it compiles in seconds and brings nothing into the lock file.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what this program does")]
#![allow(clippy::std_instead_of_alloc, reason = "there is nothing here without std")]

mod assure;
mod ci;
mod firmware;
mod gate;
mod long;
mod peers;
mod readme;
mod scratch;
mod source;
mod tidy;
mod toml;
mod tree;
mod vectors;
mod workspace;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask <CHORE>

Chores:
  tidy               Check the house rules that neither rustfmt nor clippy knows
  ci                 Run every check, in order of yield, up to the first that fails
      --list             Name the steps and run none
      --only STEP        Run this step alone; may be repeated
      --keep-going       Run the steps behind a failed one too
  assure [CHECK...]  Limb bounds, constant time, fuzz corpus and Miri, in eight minutes at most
  firmware           Run the Nostr core on three instruction sets in QEMU; compare with
                     docs/bench/firmware.tsv
      --isa NAMES        Of rv32, cortex-m4, lx7, separated by commas [default: all]
      --json             Only the measurements on stdout, one JSON object a line
      --write            Write the measurements there
  gate               Count the instructions of kernels and compare with docs/bench/instructions.tsv
      --write            Write the counts there
  long               Fuzz every target and run Miri on more; writes docs/assurance.md
      --minutes N        Minutes for each fuzz target [default: 10]
      --only STEP        Run this step alone and write nothing; may be repeated
  peers [NAME...]    Install and build what the benchmark measures beside [default: all]
  readme             Write the table of README.md from the run in docs/bench
      --check            Only compare it
  vectors            Write the test vectors anew
      --check            Only compare them with those in vectors/
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let Some((chore, rest)) = arguments.split_first() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    let outcome = match chore.as_str() {
        "assure" => assure::command(&root(), rest),
        "ci" => ci::command(&root(), rest),
        "firmware" => firmware::command(&root(), rest),
        "gate" => gate::command(&root(), rest),
        "long" => long::command(&root(), rest),
        "peers" => peers::command(&root(), rest),
        "readme" => readme::command(&root(), rest),
        "tidy" => tidy::command(&root(), rest),
        "vectors" => vectors::command(&root(), rest),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(true)
        }
        _ => Err(format!("unknown chore '{chore}'\n\n{USAGE}")),
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

/// The workspace's root: the folder above this package. `cargo run` tells where that is; what was
/// compiled in belongs to another checkout if two share a target folder.
fn root() -> PathBuf {
    let told = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let package = told.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    package.parent().map_or_else(|| package.clone(), Path::to_path_buf)
}

//! `endseal-bench`: measures the cost of sealing on this machine and compares it with other
//! programs.
//!
//! Exit codes: 1 if the answer is no, 2 for wrong usage, 3 for an error of the environment.
#![forbid(unsafe_code)]
#![allow(clippy::std_instead_of_alloc, reason = "there is nothing here without std")]

mod compare;
mod doctor;
mod failure;
mod gate;
mod list;
mod report;
mod results;
mod run;
mod shipped;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use endseal_bench::allocation::CountingAllocator;
use endseal_bench::roles;
use serde_json::Value;

use crate::failure::{Failure, Kind};

/// Counts only while a batch is measured.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// Measure the cost of sealing on this machine, and compare it with other programs
///
/// Subjects are measured alternately in short batches, ratios are paired and have intervals, and
/// the report also lists each figure in which endseal is slower. The default command is `run`.
#[derive(Debug, Parser)]
#[command(name = "endseal-bench", version, max_term_width = 100)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: run::Args,
    #[command(flatten)]
    global: Global,
}

/// Options of every command.
#[derive(Args, Clone, Copy, Debug)]
struct Global {
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    json: bool,
    /// Show no progress
    #[arg(short, long, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    /// Show suites, subjects and peers
    List,
    Report(report::Args),
    Compare(compare::Args),
    Gate(gate::Args),
    Doctor(doctor::Args),
    /// Play a role in a measurement; `run` starts it
    #[command(hide = true)]
    Role {
        /// Name of the role and its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

/// Result of a command, for people and for programs.
struct Outcome {
    text: String,
    json: Value,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command.unwrap_or(Command::Run(cli.run)) {
        Command::Run(args) => run::run(&args, !cli.global.quiet && !cli.global.json),
        Command::List => Ok(list::run()),
        Command::Report(args) => report::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Gate(args) => gate::run(&args, cli.global.json),
        Command::Doctor(args) => doctor::run(&args),
        Command::Role { arguments } => role(&arguments),
    };
    match outcome.and_then(|outcome| print(&outcome, cli.global.json)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // If even standard error fails, only the exit code reports the failure.
            let _ = io::stderr().write_all(failure.text().as_bytes());
            failure.code()
        }
    }
}

/// Runs another role of this program, in a process of its own.
fn role(arguments: &[OsString]) -> Result<Outcome, Failure> {
    let text = roles::serve(arguments).map_err(|error| {
        Failure::new(Kind::Environment, "this role of the benchmark failed").because(&*error)
    })?;
    Ok(Outcome { text, json: Value::Null })
}

fn print(outcome: &Outcome, json: bool) -> Result<(), Failure> {
    let text = if json { format!("{}\n", outcome.json) } else { outcome.text.clone() };
    match io::stdout().write_all(text.as_bytes()) {
        // The reader has closed the pipe, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => {
            Err(Failure::new(Kind::Environment, "cannot write to standard output").because(&error))
        }
        Ok(()) => Ok(()),
    }
}

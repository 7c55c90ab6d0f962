//! `endseal bench`

use clap::{Args as ClapArgs, Subcommand};

use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;

mod compare;
mod doctor;
mod drain;
mod list;
mod report;
mod role;
mod run;

/// Measure what sealing costs here, beside other programs
///
/// Subjects take turns in short batches, ratios are paired and have intervals, and what is slower here
/// is in the report too. Without a command it is `run`.
#[derive(ClapArgs, Debug)]
#[command(args_conflicts_with_subcommands = true)]
#[group(skip)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: run::Args,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::Args),
    Doctor(doctor::Args),
    #[command(hide = true)]
    Drain(drain::Args),
    #[command(hide = true)]
    Role(role::Args),
    Run(run::Args),
    Report(report::Args),
    Compare(compare::Args),
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    match &args.command {
        None => run::run(&args.run, ctx),
        Some(Command::Run(args)) => run::run(args, ctx),
        Some(Command::Report(args)) => report::run(args, ctx),
        Some(Command::Compare(args)) => compare::run(args, ctx),
        Some(Command::List(args)) => list::run(args, ctx),
        Some(Command::Doctor(args)) => doctor::run(args, ctx),
        Some(Command::Drain(args)) => drain::run(args),
        Some(Command::Role(args)) => role::run(args),
    }
}

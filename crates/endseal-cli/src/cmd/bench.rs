//! `endseal bench`: names the separate benchmark program.

use crate::failure::Failure;

/// Name the benchmark, which is a separate program
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Arguments, which are ignored
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

pub(crate) fn run(_: &Args) -> Failure {
    Failure::usage("the benchmark is a program of its own").hint("cargo endseal-bench --quick")
}

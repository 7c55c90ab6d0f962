//! `endseal bench`: where the benchmark is.

use crate::failure::Failure;

/// Say where the benchmark is: a program of its own
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Ignored
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

pub(crate) fn run(_: &Args) -> Failure {
    Failure::usage("the benchmark is a program of its own").hint("cargo endseal-bench --quick")
}

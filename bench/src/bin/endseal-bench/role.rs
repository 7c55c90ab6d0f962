//! `endseal-bench role`: another role of this program, in a process of its own.

use std::ffi::OsString;

use endseal_bench::roles;
use serde_json::Value;

use crate::Outcome;
use crate::failure::{Failure, Kind};

/// Play a role in a measurement; `run` starts it
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Name of the role and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    let text = roles::serve(&args.arguments).map_err(|error| {
        Failure::new(Kind::Environment, "this role of the benchmark failed").because(&*error)
    })?;
    Ok(Outcome { text, json: Value::Null })
}

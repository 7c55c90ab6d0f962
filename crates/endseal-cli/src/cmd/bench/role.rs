//! `endseal bench role`: another role of this program, in a process of its own.

use core::convert::Infallible;
use std::env;
use std::ffi::OsString;

use endseal_bench::s3::role;

use crate::ctx::Outcome;
use crate::failure::{Failure, Kind};

/// Plays a role of the suite `s3`; `run` starts it
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// What `run` passes
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    let ended: Result<Infallible, _> = role::serve(&args.arguments);
    match ended {
        Err(error) => {
            Err(Failure::new(Kind::Environment, "the role was not played").because(&*error))
        }
    }
}

/// Lets the suite start this program for it.
pub(super) fn announce() {
    if let Ok(program) = env::current_exe() {
        role::set_program(&program);
    }
}

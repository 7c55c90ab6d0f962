//! `endseal bench drain`: a batch whose memory is taken, in a process of its own.

use std::env;
use std::ffi::OsString;

use endseal_bench::ours::sessions::drain;

use crate::ctx::Outcome;
use crate::failure::{Failure, Kind};
use crate::json;

/// Opens a backlog and tells what memory that took; `run` starts it
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// What `run` passes
    arguments: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    let told = drain::serve(&args.arguments).map_err(|error| {
        Failure::new(Kind::Environment, "the memory of a batch was not measured").because(&*error)
    })?;
    let json = json::object([("told", told.trim().to_owned().into())]);
    Ok(Outcome::new(told, json))
}

/// Lets the suite start this program for it.
pub(super) fn announce() {
    if let Ok(program) = env::current_exe() {
        drain::set_program(&program, &["bench", "drain"]);
    }
}

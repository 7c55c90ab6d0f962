//! The shipped `endseal`, which the suite `s3` measures.

use std::env;
use std::path::{Path, PathBuf};

use endseal_bench::environment;
use endseal_bench::program::{endseal_beside, is_program, set_programs};

use crate::failure::{Failure, Kind};

/// Returns the path of the shipped program: `given`, or `endseal` beside this program.
pub(crate) fn path(given: Option<&Path>) -> Result<PathBuf, Failure> {
    Ok(given.map_or(endseal_beside(&own()?), Path::to_owned))
}

/// Fails if there is no such program.
pub(crate) fn check(endseal: &Path) -> Result<(), Failure> {
    if is_program(endseal) {
        return Ok(());
    }
    let what = format!("the shipped program is not at '{}'", endseal.display());
    let hint = format!("build it: {}; or name it: --endseal PATH", environment::build_command());
    Err(Failure::new(Kind::Environment, what).hint(hint))
}

/// Tells the suites where this program, the shipped one and those of the peers are.
pub(crate) fn announce(endseal: &Path, peers: &Path) -> Result<(), Failure> {
    set_programs(&own()?, endseal, peers);
    Ok(())
}

fn own() -> Result<PathBuf, Failure> {
    env::current_exe().map_err(|error| {
        Failure::new(Kind::Environment, "the system does not say where this program is")
            .because(&error)
    })
}

//! Runs one case of one subject for an instruction counter: prepared, then exactly the given number
//! of iterations.

use std::ffi::OsString;

use crate::case::{INPUTS, Params};
use crate::stations::Station;
use crate::subject::Prepared;

type Fault = Box<dyn core::error::Error + Send + Sync>;

/// Runs `SUITE SUBJECT CASE PARAMS ITERATIONS`, with parameters as `members=10,bytes=1024`.
///
/// # Errors
/// Fails if a name or a parameter is unknown, or if the subject fails.
pub(crate) fn run(arguments: &[OsString]) -> Result<String, Fault> {
    let texts: Option<Vec<&str>> = arguments.iter().map(|it| it.to_str()).collect();
    let Some([suite, subject, case, params, iterations]) = texts.as_deref() else {
        return Err("usage: SUITE SUBJECT CASE PARAMS ITERATIONS".into());
    };
    let station = Station::find(suite).ok_or("there is no such suite")?;
    let mut subjects = station.subjects();
    let found = subjects.iter_mut().find(|it| it.info().subject == *subject);
    let found = found.ok_or("there is no such subject")?;
    let mut of_case = Params::new();
    for pair in params.split(',').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or("a parameter is name=value")?;
        of_case.insert(name.to_owned(), value.parse()?);
    }
    let mut prepared = found.prepare(case, &of_case, INPUTS)?;
    let iterations: u32 = iterations.parse()?;
    // The first call creates what later calls share, so it is not counted.
    prepared.run(INPUTS)?;
    measured(&mut *prepared, iterations)?;
    Ok(String::new())
}

/// The only function in which callgrind counts instructions (xtask/src/gate.rs).
#[inline(never)]
fn measured(prepared: &mut dyn Prepared, iterations: u32) -> Result<(), Fault> {
    prepared.run(iterations)?;
    Ok(())
}

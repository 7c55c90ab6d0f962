//! `endseal hub check`: verifies the database of a hub.

use super::place::{self, Place};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};

/// Read the whole database and compare its counts
///
/// An empty database is whole, too: after a restore, look at endseal hub people.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let mut store = args.place.store(ctx)?;
    let wrong = store.check().map_err(|error| place::storage(&error))?;
    let list = wrong.iter().map(|fault| Value::from(fault.as_str())).collect();
    let json = json::object([("findings", Value::Array(list))]);
    let text = match wrong.as_slice() {
        [] => "the database is whole\n".to_owned(),
        faults => faults.join("\n") + "\n",
    };
    Ok(Outcome { refused: !wrong.is_empty(), ..Outcome::new(text, json) })
}

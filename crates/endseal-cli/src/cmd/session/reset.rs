//! `endseal session reset`: stops sending on the sessions with a person.

use core::num::NonZeroU32;
use core::time::Duration;

use endseal_session::EngineError;

use super::{Partner, ask};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;
use crate::printable::plural;
use crate::sessions::with;

/// Stop sending on the sessions with a person; they still receive
///
/// The next text begins new sessions. It helps if their devices cannot open what is sent to them.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Contact or identity
    name: String,
    /// Reset only the sessions with this device
    #[arg(long, value_name = "N")]
    device: Option<NonZeroU32>,
    /// Do not ask for a confirmation
    #[arg(short, long)]
    yes: bool,
}

pub(crate) fn run(args: &Args, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let partner = Partner::find(&args.name, ctx)?;
    if !args.yes {
        ask(&format!("Send no more on the sessions with {}? [y/N] ", partner.name))?;
    }
    let count = with(wait, ctx, |engine, _| {
        let mut devices = partner.devices(engine)?;
        devices.retain(|it| args.device.is_none_or(|no| no.get() == it.address.device.number()));
        if devices.is_empty() {
            return Err(Failure::usage(format!("no such device of {} is known", partner.name))
                .hint("endseal session list shows all devices"));
        }
        let count: Result<usize, EngineError> = engine.transaction(|transaction| {
            devices.iter().map(|it| transaction.reset_session(it.address)).sum()
        });
        Ok(count? as u64)
    })?;
    let text = format!("{} with {} reset", plural(count, "session"), partner.name);
    let json = json::object([("name", partner.name.into()), ("sessions", count.into())]);
    Ok(Outcome::done(text, json))
}

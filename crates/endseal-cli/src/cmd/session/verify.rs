//! `endseal session verify`: shows the safety number of a contact.

use core::time::Duration;

use endseal_keyring::device::SafetyNumber;
use endseal_session::EngineError;

use super::Partner;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;
use crate::sessions::with;

/// Print the safety number of a contact, to compare it with theirs
///
/// Both sides have the same number unless a third party stands between them. Compare the digits by
/// voice or in person, then record that with --confirm.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Contact or identity
    name: String,
    /// Record that the numbers were compared and are the same
    #[arg(long)]
    confirm: bool,
    /// Remove the record of a comparison
    #[arg(long, conflicts_with = "confirm")]
    unconfirm: bool,
}

pub(crate) fn run(args: &Args, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let partner = Partner::find(&args.name, ctx)?;
    let home = ctx.home()?;
    let own = *ctx.identity(&home)?.public().ed25519();
    if own == partner.identity {
        return Err(Failure::usage("that is your own identity"));
    }
    let number = SafetyNumber::of(&own, &partner.identity);
    let mut verified = None;
    if args.confirm || args.unconfirm {
        verified = Some(args.confirm);
        with(wait, ctx, |engine, _| {
            let devices = partner.devices(engine)?;
            if devices.is_empty() {
                let message = format!("no device of {} is known yet", partner.name);
                return Err(Failure::usage(message).hint(format!(
                    "write to them first: endseal say {} TEXT, then endseal sync",
                    partner.name
                )));
            }
            engine
                .transaction(|transaction| {
                    devices
                        .iter()
                        .try_for_each(|it| transaction.set_verified(it.address, args.confirm))
                })
                .map_err(|error: EngineError| Failure::from(error))
        })?;
    }
    let confirmation = verified.map(|is_verified| match is_verified {
        true => format!("{} is verified on this device", partner.name),
        false => format!("{} is not verified any more", partner.name),
    });
    let json = json::object([
        ("name", partner.name.into()),
        ("safety_number", number.to_string().into()),
        ("verified", verified.into()),
    ]);
    Ok(Outcome { confirmation, ..Outcome::new(format!("{number}\n"), json) })
}

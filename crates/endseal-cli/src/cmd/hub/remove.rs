//! `endseal hub remove`: puts a person or a device out.

use super::named::{self, Named};
use super::place::{self, Place};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;

/// Put a person or a device out, at once, also while the hub runs
///
/// All that waits for it is deleted, and its senders are told so. A person comes back with a new
/// invitation alone, and with a new device: endseal devices renew. A removed device stays in the
/// person's record, in which only its person can revoke it. A thief who has the person's words or
/// an identity file without a passphrase can register another device: endseal hub serve
/// --invite-devices prevents that.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Identity or name of the invitation of a person, or peer id of a device
    ///
    /// endseal hub people lists them.
    who: String,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let mut store = args.place.store(ctx)?;
    let devices = store.devices().map_err(|error| place::storage(&error))?;
    let Named { devices: named, person } = named::find(devices, &args.who)?;
    let mut count = 0;
    let removed = store.transact(&mut |transaction| {
        if let Some(person) = &person {
            // A device may have registered since.
            count = transaction.remove_person(person)?;
            return Ok(());
        }
        let left = named.iter().filter(|it| !it.is_revoked);
        count = left.clone().count();
        left.into_iter().try_for_each(|device| transaction.revoke_device(device.row))
    });
    removed.map_err(|error| place::storage(&error))?;
    let json = json::object([("devices", count.into())]);
    let text =
        if count == 1 { "1 device removed".to_owned() } else { format!("{count} devices removed") };
    Ok(Outcome::done(text, json))
}

//! `endseal hub remove`: puts a person or a device out.

use endseal_hub::DeviceState;
use endseal_keyring::{IdentityText, PeerIdText};

use super::place::{self, Place};
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json;

/// Put a person or a device out, at once, also while the hub runs
///
/// All that waits for it is deleted, and its senders are told so. A person comes back with a new
/// invitation alone, and with a new device: endseal devices renew. A removed device stays in the
/// person's record, in which only its person can revoke it.
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
    let mut persons = Vec::new();
    let named: Vec<DeviceState> = if let Ok(peer) = args.who.parse::<PeerIdText>() {
        devices.into_iter().filter(|it| it.peer == peer.peer_id()).collect()
    } else {
        persons = match args.who.parse::<IdentityText>() {
            Ok(identity) => vec![*identity.identity().ed25519().as_bytes()],
            Err(_) => {
                let named = devices.iter().filter(|it| it.invitation == args.who);
                named.map(|it| it.identity).collect()
            }
        };
        persons.sort_unstable();
        persons.dedup();
        if persons.len() > 1 {
            let text = format!("{} people joined with invitations of this name", persons.len());
            return Err(Failure::new(Kind::Refused, text).hint("name one by identity"));
        }
        devices.into_iter().filter(|it| persons.contains(&it.identity)).collect()
    };
    let left: Vec<_> = named.iter().filter(|it| !it.is_revoked).collect();
    if named.is_empty() {
        let text = format!("no one has joined as '{}'", args.who);
        return Err(Failure::new(Kind::Refused, text).hint("endseal hub people"));
    }
    let removed = store.transact(&mut |transaction| {
        for device in &left {
            transaction.revoke_device(device.row)?;
        }
        persons.iter().try_for_each(|person| transaction.set_removed(person, true))
    });
    removed.map_err(|error| place::storage(&error))?;
    let count = left.len();
    let json = json::object([("devices", count.into())]);
    Ok(Outcome::done(format!("{count} devices removed"), json))
}

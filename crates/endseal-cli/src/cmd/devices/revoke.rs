//! `endseal devices revoke`

use core::num::NonZeroU32;
use core::time::Duration;

use endseal_keyring::person::PersonChanges;
use endseal_node::messages::{HubClient, hub_limits, publish_person};
use endseal_transport::TransportKey;

use super::super::recover::ask;
use super::hub;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::network::{self, Destination, Timeouts};
use crate::{json, passphrase};

/// Revoke devices that were lost, stolen or sold
///
/// From the moment the hub has the new record they get nothing and can send nothing, and what
/// waited for them is deleted. Contacts stop encrypting to them with their next visit. Needs the
/// passphrase of the identity.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Numbers of the devices, as endseal devices list prints them
    #[arg(required = true, value_name = "N")]
    devices: Vec<NonZeroU32>,
}

pub(super) fn run(
    args: &Args,
    wait: Duration,
    timeouts: Timeouts,
    ctx: &mut Ctx,
) -> Result<Outcome, Failure> {
    let at = hub(wait, ctx)?;
    let home = ctx.home()?;
    let device = passphrase::unlock_device(ctx, &home)?;
    let root = passphrase::unlock(ctx, &home)?;
    let key = TransportKey::new(&device);
    let to = Destination { peer: at.peer, hosts: &at.hosts, timeouts, limits: hub_limits() };
    let at_hub = ask(&root, &key, &to, ctx)?;
    let is_own = |it: &NonZeroU32| {
        let mut own = at_hub.devices.iter().filter(|it| it.keys().peer_id == key.peer_id());
        own.any(|own| own.keys().device.number() == it.get())
    };
    if args.devices.iter().any(is_own) {
        return Err(Failure::usage("this is the device that you are using")
            .hint("revoke it from another one; endseal devices renew gives it new keys"));
    }
    if let Some(other) = args.devices.iter().find(|it| at_hub.record.device(**it).is_none()) {
        return Err(Failure::usage(format!("you have no device {other}"))
            .hint("endseal devices list shows yours"));
    }
    let lock = home.lock()?;
    let record = home.next_person(&root, Some(&at_hub.record), |_| {
        let mut changes = PersonChanges::new();
        for device in &args.devices {
            changes.remove(*device);
        }
        changes
    });
    let Some(record) = record? else { return Err(Failure::usage("there is no person record")) };
    network::run(ctx.global.json, async |mut interrupt| {
        let published = interrupt.with_connection(&key, &to, async |connection| {
            Ok(publish_person(&HubClient::new(connection, timeouts.idle), &record).await?)
        });
        published.await
    })
    .map_err(|failure| failure.hint("nothing was revoked, unless endseal devices list says so"))?;
    // Only what the hub has is in force.
    home.store_person(&record, &lock)?;
    let numbers: Vec<String> = args.devices.iter().map(ToString::to_string).collect();
    let json = json::object([("revoked", numbers.clone().into())]);
    Ok(Outcome::done(format!("revoked: {}", numbers.join(", ")), json))
}

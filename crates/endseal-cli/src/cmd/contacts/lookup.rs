//! Asks the hub for the long identity of a person of whom only the short one is known.

use core::time::Duration;

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::identity::PublicIdentity;
use endseal_node::Home;
use endseal_node::api::Client;
use endseal_node::messages::{HubClient, hub_limits, long_identity, membership};
use endseal_transport::TransportKey;

use crate::cmd::join::hosts;
use crate::ctx::Ctx;
use crate::duration;
use crate::failure::Failure;
use crate::network::{self, Destination, Timeouts};
use crate::sessions::{open, work_and_close};

/// Time to wait for another command that has the store open.
const WAIT: Duration = duration::SECOND.saturating_mul(2);

/// Returns the long identity. `None` if this device is registered at no hub, if the hub does not
/// know the person, or if the passphrase of this device would have to be typed.
///
/// # Errors
/// Fails if the hub cannot be asked now.
pub(super) fn ask(
    home: &Home,
    person: &PublicKey,
    ctx: &mut Ctx,
) -> Result<Option<PublicIdentity>, Failure> {
    if !home.store_path().exists() {
        return Ok(None);
    }
    let Some(device) = home.device()?.open_without_passphrase()? else { return Ok(None) };
    if Client::find(home)?.is_some() {
        return Err(Failure::usage("endseal up uses the store"));
    }
    let key = TransportKey::new(&device);
    let engine = open(home, &device, WAIT)?;
    drop(device);
    let as_json = ctx.global.json;
    work_and_close(engine, ctx, |engine, _| {
        let Some(known) = membership(engine)? else { return Ok(None) };
        let hosts = hosts(known.addresses.split(' '))?;
        network::run(as_json, async |mut interrupt| {
            let (peer, timeouts) = (known.hub, Timeouts::QUICK);
            let to = Destination { peer, hosts: &hosts, timeouts, limits: hub_limits() };
            let asked = interrupt.with_connection(&key, &to, async |connection| {
                let hub = HubClient::new(connection, timeouts.idle);
                Ok(long_identity(&hub, engine, person).await?)
            });
            asked.await
        })
    })
}

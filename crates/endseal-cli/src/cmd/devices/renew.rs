//! `endseal devices renew`

use core::time::Duration;

use endseal_codec::hub::Code;
use endseal_node::NewDeviceKeys;
use endseal_node::api::Client;
use endseal_node::messages::{
    HubClient, HubError, NodeFiles, SyncError, SyncReport, device_name, hub_limits, membership,
    register, sync,
};
use endseal_session::Engine;
use endseal_transport::TransportKey;

use super::super::init::make_device;
use super::super::recover::ask;
use super::super::sync::tell;
use super::hub_of;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::names::Names;
use crate::network::{self, Destination, Timeouts};
use crate::peer_address::HubAddress;
use crate::sessions::{not_opened, open, up_uses_store, work_and_close};
use crate::{json, passphrase};

/// Give this device new keys, after its state directory was restored from a copy
///
/// The identity, history, contacts and groups stay. Texts that no device has confirmed are sent
/// again. Another copy of this directory gets and sends nothing any more. Needs the passphrase of
/// the identity.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct Args {
    /// Protect the device's keys and store by a passphrase; if they have one, always
    #[arg(long)]
    protect_device: bool,
}

pub(super) fn run(
    args: Args,
    wait: Duration,
    timeouts: Timeouts,
    ctx: &mut Ctx,
) -> Result<Outcome, Failure> {
    let home = ctx.home()?;
    // Before the user types a passphrase.
    if Client::find(&home)?.is_some() {
        return Err(up_uses_store());
    }
    let before = passphrase::unlock_device(ctx, &home)?;
    let (device, device_file) = match home.next_device()? {
        Some(file) => (passphrase::unlock_next_device(&file, ctx)?, file),
        None => {
            let is_protected = home.device()?.open_without_passphrase()?.is_none();
            make_device(args.protect_device || is_protected, ctx)?
        }
    };
    let at = {
        let engine = home.sessions_to_renew(&before, &device, wait);
        let engine = engine.map_err(|error| not_opened(error, &home))?;
        work_and_close(engine, ctx, |engine, ctx| {
            let at = hub_of(membership(engine)?)?;
            let key = TransportKey::new(&before);
            if engine.certificate().keys().peer_id == key.peer_id() {
                let keys = NodeFiles::new(&home);
                take_what_waits(engine, &key, &at, &keys, timeouts, ctx)?;
            }
            Ok(at)
        })?
    };
    let root = passphrase::unlock(ctx, &home)?;
    let key = TransportKey::new(&device);
    let to = Destination { peer: at.peer, hosts: &at.hosts, timeouts, limits: hub_limits() };
    let at_hub = ask(&root, &key, &to, ctx)?;
    let new = NewDeviceKeys {
        root: &root,
        before: &before,
        device: &device,
        device_file: &device_file,
        at_hub: &at_hub.record,
        now: ctx.now,
    };
    let number = home.renew_device(&new, &home.lock()?)?;
    let (person, addresses) = (home.person()?, at.addresses());
    let engine = open(&home, &device, wait)?;
    let as_json = ctx.global.json;
    let name = work_and_close(engine, ctx, |engine, _| {
        network::run(as_json, async |mut interrupt| {
            let registered = interrupt.with_connection(&key, &to, async |connection| {
                let hub = HubClient::new(connection, timeouts.idle);
                Ok(register(&hub, engine, &addresses, None, &person).await?)
            });
            registered.await
        })?;
        Ok(device_name(engine, number.number())?)
    })
    .map_err(|failure| {
        failure.hint(
            "this device has its new keys, and is not registered yet: run endseal devices renew \
             again, or with an invitation: endseal join FILE",
        )
    })?;
    let number = number.number();
    let name = name.map(String::from);
    let json = json::object([("device", number.into()), ("name", name.into())]);
    Ok(Outcome::done(format!("this is device {number} now; endseal sync sends what waits"), json))
}

/// Receives what waits for the present keys, which the hub deletes with them.
///
/// # Errors
/// All failures but those that end with the renewal: the device must not send, or is not registered
/// any more and gets nothing.
fn take_what_waits(
    engine: &mut Engine,
    key: &TransportKey,
    at: &HubAddress,
    keys: &NodeFiles<'_>,
    timeouts: Timeouts,
    ctx: &mut Ctx,
) -> Result<(), Failure> {
    match visit(engine, key, at, keys, timeouts, ctx)? {
        Ok(())
        | Err(
            SyncError::Restored
            | SyncError::Hub(HubError::Refused(Code::REVOKED | Code::REGISTERED | Code::CERTIFICATE)),
        ) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Visits the hub once, and tells what did not go as people expect.
pub(super) fn visit(
    engine: &mut Engine,
    key: &TransportKey,
    at: &HubAddress,
    keys: &NodeFiles<'_>,
    timeouts: Timeouts,
    ctx: &mut Ctx,
) -> Result<Result<(), SyncError>, Failure> {
    let to = Destination { peer: at.peer, hosts: &at.hosts, timeouts, limits: hub_limits() };
    let person = ctx.home()?.person()?;
    let mut report = SyncReport::default();
    let visited = network::run(ctx.global.json, async |mut interrupt| {
        let visit = interrupt.with_address(key, &to, async |connection, at| {
            let hub = HubClient::new(connection, timeouts.idle).at(at);
            Ok(sync(&hub, engine, &person, keys, &mut report).await)
        });
        visit.await
    })?;
    let names = Names::load(&ctx.home()?)?;
    tell(&report, person.identity().ed25519(), &names, ctx);
    Ok(visited)
}

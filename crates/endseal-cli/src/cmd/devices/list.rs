//! `endseal devices list`

use core::fmt::Write as _;
use core::time::Duration;

use endseal_node::api::{CallError, Reply, Request};
use endseal_node::messages::DeviceChange;

use super::super::session::Partner;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::node_access::with_node;
use crate::time::{local, rfc3339};

/// List the devices of a person, and when they were added or revoked
///
/// They are those of the newest record that this device has seen, signed by the person's identity.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Contact or identity [default: you]
    name: Option<String>,
}

pub(super) fn run(args: &Args, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let person = match &args.name {
        Some(name) => Partner::find(name, ctx)?.identity,
        None => *ctx.home()?.person()?.identity().ed25519(),
    };
    let home = ctx.home()?;
    let own = home.device()?.public().ed25519().to_owned();
    let record = home.person()?;
    let own = record.devices().find(|(_, it)| **it == own).map(|(number, _)| number);
    let own = own.filter(|_| *record.identity().ed25519() == person).map(|it| it.get());
    let reply = with_node(wait, ctx, |node, _| node.call(Request::Devices { person }))?;
    let Reply::Devices(mut devices) = reply else { return Err(CallError::Unexpected.into()) };
    if *record.identity().ed25519() == person {
        // The store learns of it with the next visit.
        devices.numbers = record.devices().map(|(number, _)| number.get()).collect();
        devices.numbers.sort_unstable();
    }
    let since = |device: u32| {
        let mut of = devices.changes.iter().filter(|it| it.is_new && it.device == device);
        of.next_back().map(|it| it.time)
    };
    let name = |device: u32| {
        let mut of = devices.names.iter().filter(|it| it.device == device);
        of.next().map(|it| it.name.as_str())
    };
    let (mut text, mut list) = (String::new(), Vec::new());
    for number in &devices.numbers {
        let is_this = own == Some(*number);
        let mark = if is_this { "  this device" } else { "" };
        let since = since(*number);
        let shown = since.map(|it| format!("  since {}", local(it))).unwrap_or_default();
        let name = name(*number);
        let called = name.map(|it| format!("  {it}")).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{number}{called}{shown}{mark}");
        list.push(json::object([
            ("device", (*number).into()),
            ("name", name.into()),
            ("since", since.map(rfc3339).into()),
            ("is_this", is_this.into()),
            ("is_revoked", false.into()),
        ]));
    }
    for DeviceChange { device, time, .. } in devices.changes.iter().filter(|it| !it.is_new) {
        let name = name(*device);
        let called = name.map(|it| format!("  {it}")).unwrap_or_default();
        let _ = writeln!(text, "{device}{called}  revoked {}", local(*time));
        list.push(json::object([
            ("device", (*device).into()),
            ("name", name.into()),
            ("since", rfc3339(*time).into()),
            ("is_this", false.into()),
            ("is_revoked", true.into()),
        ]));
    }
    Ok(Outcome::new(text, json::object([("devices", Value::Array(list))])))
}

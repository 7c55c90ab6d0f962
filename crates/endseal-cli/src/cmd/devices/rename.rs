//! `endseal devices rename`

use core::num::NonZeroU32;
use core::time::Duration;

use endseal_node::api::{CallError, Reply, Request};
use endseal_node::messages::DeviceName;

use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::node_access::with_node;
use crate::{device_name, json};

/// Name a device of yours
///
/// This device shows the name, and so do devices that it links and backups that it writes from now
/// on. Your other devices do not learn it, and neither do the hub and your contacts.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Number of the device, as endseal devices list prints it
    #[arg(value_name = "N")]
    device: NonZeroU32,
    /// New name, for example laptop: at most 64 bytes
    #[arg(value_parser = device_name::parse)]
    name: DeviceName,
}

pub(super) fn run(args: &Args, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let record = ctx.home()?.person()?;
    let (person, device) = (*record.identity().ed25519(), args.device.get());
    let name = args.name.clone();
    with_node(wait, ctx, |node, _| {
        let Reply::Devices(known) = node.call(Request::Devices { person })? else {
            return Err(CallError::Unexpected.into());
        };
        let is_known = record.device(args.device).is_some()
            || known.changes.iter().any(|change| change.device == device);
        if !is_known {
            return Err(Failure::usage(format!("you have no device {device}"))
                .hint("endseal devices list shows yours"));
        }
        node.call(Request::NameDevice { device, name: name.clone() })
    })?;
    let json = json::object([("device", device.into()), ("name", args.name.as_str().into())]);
    Ok(Outcome::done(format!("device {device} is called {} here", args.name), json))
}

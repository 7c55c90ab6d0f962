//! `endseal devices`

mod add;
mod link;
mod link_file;
mod list;
mod rename;
mod renew;
mod revoke;

use core::time::Duration;

use clap::Subcommand;
use endseal_node::messages::Membership;

use super::session::StoreArgs;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::network::Timeouts;
use crate::node_access::with_node;
use crate::peer_address::HubAddress;

/// Show, add and revoke the devices of a person, and renew this one
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    timeouts: Timeouts,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::Args),
    Link(link::Args),
    Add(add::Args),
    Rename(rename::Args),
    Revoke(revoke::Args),
    Renew(renew::Args),
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    match &args.command {
        Command::List(it) => list::run(it, args.store.wait, ctx),
        Command::Link(it) => link::run(it, args.store.wait, args.timeouts, ctx),
        Command::Add(it) => add::run(it, args.store.wait, args.timeouts, ctx),
        Command::Rename(it) => rename::run(it, args.store.wait, ctx),
        Command::Revoke(it) => revoke::run(it, args.store.wait, args.timeouts, ctx),
        Command::Renew(it) => renew::run(*it, args.store.wait, args.timeouts, ctx),
    }
}

/// The hub at which this device is registered.
fn hub(wait: Duration, ctx: &mut Ctx) -> Result<HubAddress, Failure> {
    hub_of(with_node(wait, ctx, |node, _| node.status())?.status.membership)
}

fn hub_of(membership: Option<Membership>) -> Result<HubAddress, Failure> {
    let membership = membership.ok_or_else(|| {
        Failure::new(Kind::Configuration, "this device is registered at no hub")
            .hint("ask the hub's owner for an invitation, then: endseal join FILE")
    })?;
    HubAddress::new(membership.hub, &membership.addresses)
}

//! `endseal contacts verify`: shows the safety number of a contact.

use core::time::Duration;
use std::collections::HashSet;

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::device::SafetyNumber;
use endseal_node::Home;
use endseal_node::api::{Client, Request};

use super::super::block::person_rules;
use super::super::session::{Partner, StoreArgs};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;
use crate::node_access::with_node;
use crate::passphrase;
use crate::printable::printable;
use crate::typed::redacted;

/// Time for which the list of contacts waits for another command that has the store open. Shells
/// ask for the list to complete names.
const WAIT: Duration = Duration::from_millis(300);

/// Print the safety number of a contact, to compare it with theirs
///
/// Both sides have the same number unless a third party stands between them. Compare the digits by
/// voice or in person, then record that with --confirm. The record is of the identity: a contact
/// that gets another identity is not verified.
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
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let Partner { identity: person, name } = Partner::find(&args.name, ctx)?;
    let home = ctx.home()?;
    let own = *ctx.identity(&home)?.public().ed25519();
    if own == person {
        return Err(Failure::usage("that is your own identity"));
    }
    let number = SafetyNumber::of(&own, &person);
    let change = (args.confirm || args.unconfirm).then_some(args.confirm);
    if let Some(is_verified) = change {
        let request = Request::Verify { person, is_verified };
        with_node(args.store.wait, ctx, |node, _| node.call(request))?;
    }
    let confirmation = change.map(|is_verified| match is_verified {
        true => format!("{name} is verified"),
        false => format!("{name} is not verified any more"),
    });
    let json = json::object([
        ("name", name.into()),
        ("safety_number", number.to_string().into()),
        ("verified", change.into()),
    ]);
    Ok(Outcome { confirmation, ..Outcome::new(format!("{number}\n"), json) })
}

/// Returns the persons whose safety numbers were compared. `None` if the store cannot be read now,
/// or if the passphrase of this device would have to be typed: contacts are listed without it.
pub(super) fn verified(home: &Home, ctx: &mut Ctx) -> Option<HashSet<PublicKey>> {
    match read(home, ctx) {
        Ok(verified) => verified,
        Err(failure) => {
            let why = printable(&redacted(&failure.line()));
            ctx.note(&format!("note: it is not known which contacts are verified: {why}"));
            None
        }
    }
}

fn read(home: &Home, ctx: &mut Ctx) -> Result<Option<HashSet<PublicKey>>, Failure> {
    if Client::find(home)?.is_none() {
        if !home.store_path().exists() {
            return Ok(None);
        }
        let has_passphrase = home.device()?.open_without_passphrase()?.is_none();
        if has_passphrase && !passphrase::is_given(ctx)? {
            ctx.detail("the store, which knows who is verified, needs a passphrase");
            return Ok(None);
        }
    }
    let rules = with_node(WAIT, ctx, |node, _| person_rules(node))?;
    Ok(Some(rules.iter().filter(|it| it.is_verified).map(|it| it.person).collect()))
}

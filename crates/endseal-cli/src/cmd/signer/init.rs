//! `endseal signer init`: creates the signer's store.

use endseal_node::Home;
use endseal_signer::Signer;
use endseal_store::KdfParams;

use super::access::{self, FOLDER};
use super::failures;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::{json, passphrase};

/// Make the signer's store under a passphrase
///
/// The state directory is made if it is missing. Without the store and its passphrase, the keys in
/// it are lost: keep copies of the keys elsewhere.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Relay over which apps reach the signer; repeatable
    #[arg(long, value_name = "URL")]
    relay: Vec<String>,
    /// Refuse clients that encrypt with NIP-04, which authenticates nothing
    #[arg(long)]
    no_nip04: bool,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    // Check the relays before anything is created.
    Signer::check_relays(&args.relay).map_err(|error| {
        Failure::of(Kind::Usage, &error).hint("a relay has a URL, for example wss://relay.example")
    })?;
    let home = Home::create(&ctx.home_path()?)?;
    let directory = home.path().join(FOLDER);
    // Check before the user types a passphrase.
    if directory.symlink_metadata().is_ok() {
        return Err(failures::exists(&directory));
    }
    let passphrase = passphrase::choose_for("Passphrase for the new signer: ", ctx)?;
    let made = Signer::init(&directory, access::text(&passphrase), KdfParams::RECOMMENDED);
    let mut signer = made.map_err(|error| failures::create(&directory, &error))?;
    signer.set_relays(ctx.now / 1000, &args.relay).map_err(|error| {
        Failure::usage("the signer was made without relays")
            .because(&error)
            .hint("name them with: endseal signer run --relay URL")
    })?;
    if args.no_nip04 {
        signer
            .refuse_nip04(ctx.now / 1000)
            .map_err(|error| Failure::of(Kind::Environment, &error))?;
    }
    let path = directory.display().to_string();
    let json = json::object([("signer", path.clone().into())]);
    Ok(Outcome::done(format!("signer in '{path}'; next: endseal signer import"), json))
}

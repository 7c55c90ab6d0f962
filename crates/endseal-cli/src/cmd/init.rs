//! `endseal init`

use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_keyring::{IdentityFile, IdentityText, KdfParams};
use endseal_node::{Existing, FileError, Home, IdentityError};

use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json;
use crate::passphrase;

/// Make an identity and print its public half
///
/// The state directory is made if it is missing.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    protection: Protection,
}

/// Protection of a new identity file.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct Protection {
    /// Use no passphrase: whoever can read the identity file has the identity
    #[arg(long, conflicts_with_all = ["passphrase_file", "passphrase_fd"])]
    no_passphrase: bool,
    /// Begin anew if there is an identity; the old file is kept under another name
    #[arg(short, long)]
    force: bool,
}

pub(crate) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let identity = Identity::generate(&mut OsRandom)
        .map_err(|error| Failure::of(Kind::Environment, &error))?;
    store(&identity, args.protection, ctx)
}

/// Puts an identity into the state directory, and says so.
pub(crate) fn store(
    identity: &Identity,
    protection: Protection,
    ctx: &mut Ctx,
) -> Result<Outcome, Failure> {
    let home = Home::create(&ctx.home_path()?)?;
    let path = home.identity_path();
    // Before a person types a passphrase in vain.
    if !protection.force && path.symlink_metadata().is_ok() {
        return Err(IdentityError::File(FileError::Exists(path)).into());
    }
    let file = if protection.no_passphrase {
        ctx.note(
            "warning: without a passphrase, whoever can read the identity file has the identity",
        );
        IdentityFile::seal_without_passphrase(identity, &mut OsRandom)?
    } else {
        let passphrase = passphrase::choose(ctx)?;
        IdentityFile::seal(identity, &passphrase, KdfParams::RECOMMENDED, &mut OsRandom)?
    };
    let existing = if protection.force { Existing::Replace } else { Existing::Keep };
    let aside = home.store_identity(&file, existing, &home.lock()?)?;
    ctx.note(&format!("identity in '{}'", path.display()));
    if let Some(aside) = &aside {
        ctx.note(&format!("the old one is kept as '{}'", aside.display()));
    }
    ctx.note("the line below is public: give it to those who seal to you");
    let long = IdentityText::from(identity.public().clone());
    let short = long.short().to_string();
    let json = json::object([
        ("identity", short.clone().into()),
        ("identity_pq", long.to_string().into()),
        ("file", path.display().to_string().into()),
        ("old_file", aside.map(|aside| aside.display().to_string()).into()),
    ]);
    Ok(Outcome::new(short + "\n", json))
}

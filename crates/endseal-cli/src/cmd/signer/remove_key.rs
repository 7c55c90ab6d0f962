//! `endseal signer remove-key`: removes a user's key.

use std::io::Write as _;
use std::path::PathBuf;

use endseal_node::{AtomicFile, Existing, FileError, Readers};
use endseal_signer::control::{AppState, Command, CommandError, Reply};

use super::access::{self, Source};
use super::invite::user;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;

/// Remove a user's key, of which no app makes use any more
///
/// Backups of the signer have the key still.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Public key of the user
    #[arg(value_name = "NPUB")]
    user: String,
    /// Write the key, encrypted under the signer's passphrase, to this new file first
    #[arg(long, value_name = "FILE", required_unless_present = "forget")]
    copy: Option<PathBuf>,
    /// Keep no copy of the key
    #[arg(long, conflicts_with = "copy")]
    forget: bool,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let user = user(Some(&args.user))?.unwrap_or_default();
    let mut source = Source::find(ctx)?;
    // Looked at first, so that no copy is left of a key that stays.
    let Reply::Apps(apps) = source.ask(Command::Apps, ctx)? else {
        return Err(access::unexpected());
    };
    let has_ended = |state| matches!(state, AppState::Revoked | AppState::LoggedOut);
    match apps.iter().filter(|it| it.user == user && !has_ended(it.state)).count() {
        0 => {}
        count => return Err(CommandError::KeyInUse(count).into()),
    }
    if let Some(path) = &args.copy {
        let mut file = AtomicFile::create(path, Existing::Keep, Readers::Owner)?;
        let reply = source.ask(Command::EncryptedKey { user: user.clone() }, ctx)?;
        let Reply::EncryptedKey(text) = reply else { return Err(access::unexpected()) };
        let written = file.write_all(format!("{text}\n").as_bytes());
        written.map_err(|source| FileError::io("write", file.destination(), source))?;
        file.commit()?;
    }
    let reply = source.ask(Command::RemoveUser { user: user.clone() }, ctx)?;
    let Reply::Done = reply else { return Err(access::unexpected()) };
    let kept = args.copy.as_ref().map(|path| path.display().to_string());
    let text = match &kept {
        Some(path) => format!("the key is removed; its copy is in '{path}'"),
        None => "the key is removed".to_owned(),
    };
    Ok(Outcome::done(text, json::object([("public_key", user.into()), ("kept", kept.into())])))
}

//! `endseal hub invite`: makes an invitation.

use core::time::Duration;
use std::io::Write as _;
use std::path::PathBuf;

use endseal_crypto::random::{OsRandom, Random as _};
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::{Invitation, Inviter, JoinToken, Name};
use endseal_node::{AtomicFile, Existing, FileError, Readers};

use super::place::{self, Place};
use crate::ctx::{Ctx, Outcome};
use crate::duration::{self, MINUTE, WEEK};
use crate::failure::{Failure, Kind};
use crate::json;
use crate::output::DASH;
use crate::peer_address::HostAddress;

/// Print a text with which a device may join
///
/// The text is a secret: give it only to the person that shall join. It can be made while the hub
/// runs.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Name of the invitation, with which endseal hub people shows who used it
    name: Name,
    /// Address at which nodes connect to the hub; repeatable
    ///
    /// Without a port it is 4433.
    #[arg(long, value_name = "HOST[:PORT]", required = true)]
    at: Vec<HostAddress>,
    /// Devices that may register with it
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000))]
    uses: u32,
    /// It expires after this time
    #[arg(long, value_name = "TIME", default_value = "7d")]
    #[arg(value_parser = duration::between(MINUTE, 52 * WEEK))]
    valid: Duration,
    /// Your name for the person, with your identity: joining makes you a contact there
    #[arg(long, value_name = "NAME")]
    from: Option<Name>,
    /// Write the text to a new file that only you can read [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let folder = args.place.open(ctx)?;
    let (key, mut store) = (folder.key()?, args.place.store_of(&folder, ctx)?);
    let path = args.output.as_deref().filter(|path| path.as_os_str() != DASH);
    // Create the file before the invitation, which would stay valid if the file failed.
    let file = path.map(|path| AtomicFile::create(path, Existing::Keep, Readers::Owner));
    let file = file.transpose()?;
    let token = JoinToken::try_init_with(|token| OsRandom.fill(token));
    let token = token.map_err(|error| Failure::of(Kind::Environment, &error))?;
    let digest = token.digest();
    let addresses: Vec<String> = args.at.iter().map(ToString::to_string).collect();
    let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
    let invitation = Invitation::new(key.peer_id(), token, &addresses).ok_or_else(|| {
        Failure::usage("an address is not HOST:PORT, or they are longer than 255 bytes")
            .hint("--at hub.example.org:4433")
    })?;
    let invitation = match &args.from {
        Some(name) => {
            let identity = *ctx.home()?.identity()?.public().ed25519();
            invitation.by(Inviter { name: name.clone(), identity })
        }
        None => invitation,
    };
    // The database stores microseconds.
    let valid = u64::try_from(args.valid.as_micros()).unwrap_or(u64::MAX);
    let expires = ctx.now.saturating_mul(1_000).saturating_add(valid);
    let added = store.transact(&mut |transaction| {
        transaction.add_invitation(&digest, args.name.as_str(), expires, args.uses)
    });
    added.map_err(|error| place::storage(&error))?;
    let text = invitation.to_text();
    let (uses, valid) = (args.uses, duration::text(args.valid));
    let confirmation = Some(format!("lets {uses} join within {valid}"));
    if let Some(mut file) = file {
        let written = file.write_all(text.as_bytes()).and_then(|()| file.write_all(b"\n"));
        written.map_err(|source| FileError::io("write", file.destination(), source))?;
        let output = file.destination().display().to_string();
        file.commit()?;
        let json = json::object([("output", output.into())]);
        return Ok(Outcome { confirmation, ..Outcome::new("", json) });
    }
    if ctx.global.json {
        let json = json::object([("invitation", text.as_str().into())]);
        return Ok(Outcome::new("", json));
    }
    let mut line = Zeroizing::new(String::with_capacity(text.len() + 1));
    line.push_str(&text);
    line.push('\n');
    ctx.print(line.as_bytes())?;
    Ok(Outcome { confirmation, ..Outcome::default() })
}

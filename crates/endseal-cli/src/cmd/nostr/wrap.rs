//! `endseal nostr wrap`: wraps a private message.

use core::time::Duration;
use std::path::PathBuf;

use base16ct::lower::encode_string as hex;
use endseal_crypto::random::OsRandom;
use endseal_nostr::event::Template;
use endseal_nostr::gift_wrap::{
    Layer, Lifetime, MAX_DELAY, Wrapping, max_wrapped_len, past_time, wrap,
};
use endseal_nostr::key::SigningKey;
use endseal_nostr::nip44::{Lengths, payload_len};

use super::content::{self, Destination};
use super::event;
use super::peer;
use super::secret::KeyFile;
use crate::ctx::{Ctx, Outcome};
use crate::duration::{self, SECOND, WEEK};
use crate::failure::{Failure, Kind};
use crate::json;

/// Event kind of a private message (NIP-17).
const PRIVATE_MESSAGE: u16 = 14;

/// Wrap a private message for a receiver (NIP-17, NIP-59)
///
/// Relays learn the receiver, and neither the sender nor the time.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    key: KeyFile,
    /// The receiver: npub1..., nprofile1... or 64 hexadecimal digits
    #[arg(long, value_name = "NPUB")]
    to: String,
    /// The input is an unsigned event as JSON, not a text
    #[arg(long)]
    event: bool,
    /// Relays pass it on and forget it (kind 21059)
    #[arg(long)]
    ephemeral: bool,
    /// Relays delete it after this time, and up to two days more
    ///
    /// The days are random, as a time that is exact would show when the message was sent.
    #[arg(long, value_name = "TIME", value_parser = duration::between(SECOND, 520 * WEEK))]
    expires: Option<Duration>,
    #[command(flatten)]
    destination: Destination,
    /// The message [default: standard input]
    input: Option<PathBuf>,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let peer = peer::read(&args.to)?;
    let author = SigningKey::new(args.key.read(args.input.as_deref(), ctx)?);
    let output = args.destination.create(ctx)?;
    let message = content::read(args.input.as_deref(), ctx)?;
    let to = hex(&peer.to_bytes());
    let receiver = ["p", &to];
    let tags: [&[&str]; 1] = [&receiver];
    let rumor = match args.event {
        true => Template::parse(&message)?,
        false => event::of_content(content::text(&message)?, PRIVATE_MESSAGE, &tags, ctx),
    };
    let now = ctx.now / 1000;
    let before = |time| {
        past_time(time, &mut OsRandom).map_err(|error| Failure::of(Kind::Environment, &error))
    };
    let layer = || -> Result<Layer, Failure> {
        let latest =
            |after: Duration| now.saturating_add(after.as_secs()).saturating_add(MAX_DELAY);
        let expiration = args.expires.map(|after| before(latest(after))).transpose()?;
        Ok(Layer { created_at: before(now)?, expiration })
    };
    let lifetime = if args.ephemeral { Lifetime::Ephemeral } else { Lifetime::Stored };
    let wrapping = Wrapping { seal: layer()?, wrap: layer()?, lifetime };
    let rumor_len = event::rumor_json(&rumor.rumor(author.public_key()))?.len();
    let len = max_wrapped_len(rumor_len)?;
    // The wrap encrypts the seal, which is the payload of the rumor with less than 512 bytes around
    // it.
    content::warn_of_length(payload_len(rumor_len, Lengths::Extended)? + 512, ctx);
    let (mut scratch, mut out) = (vec![0; len], vec![0; len]);
    let wrapped = wrap(&rumor, &author, &peer, &wrapping, &mut OsRandom, &mut scratch, &mut out)?;
    let id = hex(&rumor.id(&author.public_key().to_bytes()));
    let json = json::object([("id", id.into()), ("kind", rumor.kind.into())]);
    content::write(output, wrapped, true, json)
}

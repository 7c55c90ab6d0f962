//! `endseal nostr encrypt`

use std::path::PathBuf;

use endseal_crypto::random::{OsRandom, Random as _};
use endseal_nostr::nip04::{self, content_len};
use endseal_nostr::nip44::{Conversation, Lengths, payload_len};

use super::content::{self, Destination};
use super::peer;
use super::secret::KeyFile;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json;

/// Encrypt a text for a receiver (NIP-44)
///
/// The payload goes into the content of an event, whose signature says who sent it.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    key: KeyFile,
    /// The receiver: npub1..., nprofile1... or 64 hexadecimal digits
    #[arg(long, value_name = "NPUB")]
    to: String,
    /// Encrypt by NIP-04, for clients that know no NIP-44: authenticates nothing
    #[arg(long)]
    nip04: bool,
    #[command(flatten)]
    destination: Destination,
    /// The text [default: standard input]
    input: Option<PathBuf>,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let peer = peer::read(&args.to)?;
    let key = args.key.read(args.input.as_deref(), ctx)?;
    let output = args.destination.create(ctx)?;
    let plaintext = content::read(args.input.as_deref(), ctx)?;
    content::text(&plaintext)?;
    let mut nonce = [0; 32];
    OsRandom.fill(&mut nonce).map_err(|error| Failure::of(Kind::Environment, &error))?;
    let mut out;
    let payload = if args.nip04 {
        out = vec![0; content_len(plaintext.len())];
        let [iv, _] = nonce.as_chunks::<16>().0 else { return Err(Failure::usage("")) };
        nip04::Key::new(&key, &peer)
            .encrypt(&plaintext, iv, &mut out)
            .map_err(|error| Failure::of(Kind::Usage, &error))?
    } else {
        out = vec![0; payload_len(plaintext.len(), Lengths::Extended)?];
        content::warn_of_length(plaintext.len(), ctx);
        Conversation::new(&key, &peer).seal(&plaintext, &nonce, Lengths::Extended, &mut out)?
    };
    let json = json::object([
        ("content_length", plaintext.len().into()),
        ("payload_length", payload.len().into()),
    ]);
    content::write(output, payload.as_bytes(), true, json)
}

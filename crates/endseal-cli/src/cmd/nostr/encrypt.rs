//! `endseal nostr encrypt`: encrypts a text with NIP-44 or NIP-04.

use std::path::PathBuf;

use endseal_crypto::random::{OsRandom, Random as _};
use endseal_nostr::connect::{Call, Message};
use endseal_nostr::key::{PublicKey, SecretKey};
use endseal_nostr::nip04::{self, content_len};
use endseal_nostr::nip44::{Conversation, Lengths, payload_len};

use super::content::{self, Destination};
use super::holder::{Holder, HolderArgs};
use super::peer;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json;

/// Encrypt a text for a receiver (NIP-44)
///
/// The payload goes into the content of an event, whose signature says who sent it.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    holder: HolderArgs,
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
    let holder = args.holder.read(args.input.as_deref(), ctx)?;
    let output = args.destination.create(ctx)?;
    let plaintext = content::read(args.input.as_deref(), ctx)?;
    let text = content::text(&plaintext)?;
    if !args.nip04 {
        payload_len(text.len(), Lengths::Extended)?;
        content::warn_of_length(text.len(), ctx);
    }
    let payload = match holder {
        Holder::Local(key) => encrypt(&key, &peer, text, args.nip04)?,
        Holder::Remote(bunker) => {
            let message = Message { peer, text };
            let call = match args.nip04 {
                true => Call::Nip04Encrypt(message),
                false => Call::Nip44Encrypt(message),
            };
            let payload = bunker.ask(ctx, async |signer, now| signer.call(&call, now).await)?;
            payload.to_string()
        }
    };
    let json = json::object([
        ("content_length", plaintext.len().into()),
        ("payload_length", payload.len().into()),
    ]);
    content::write(output, payload.as_bytes(), true, json)
}

fn encrypt(key: &SecretKey, peer: &PublicKey, text: &str, nip04: bool) -> Result<String, Failure> {
    let mut nonce = [0; 32];
    OsRandom.fill(&mut nonce).map_err(|error| Failure::of(Kind::Environment, &error))?;
    if nip04 {
        let mut out = vec![0; content_len(text.len())];
        let [iv, _] = nonce.as_chunks::<16>().0 else { return Err(Failure::usage("")) };
        let content = nip04::Key::new(key, peer).encrypt(text.as_bytes(), iv, &mut out);
        return Ok(content.map_err(|error| Failure::of(Kind::Usage, &error))?.to_owned());
    }
    let mut out = vec![0; payload_len(text.len(), Lengths::Extended)?];
    let conversation = Conversation::new(key, peer);
    Ok(conversation.seal(text.as_bytes(), &nonce, Lengths::Extended, &mut out)?.to_owned())
}

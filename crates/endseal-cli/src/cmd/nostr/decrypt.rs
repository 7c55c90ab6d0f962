//! `endseal nostr decrypt`: decrypts a NIP-44 or NIP-04 payload.

use std::path::PathBuf;

use endseal_nostr::connect::{Call, Message};
use endseal_nostr::nip04;
use endseal_nostr::nip44::Conversation;

use super::content::{self, Destination};
use super::holder::{Holder, HolderArgs};
use super::peer;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;

/// Decrypt a payload of a sender (NIP-44)
///
/// Payloads do not say who made them: verify the event around one first. What you encrypted is
/// decrypted with its receiver as --from.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    holder: HolderArgs,
    /// The sender: npub1..., nprofile1... or 64 hexadecimal digits
    #[arg(long, value_name = "NPUB")]
    from: String,
    /// The payload is of NIP-04: nothing is authenticated
    #[arg(long)]
    nip04: bool,
    #[command(flatten)]
    destination: Destination,
    /// The payload [default: standard input]
    input: Option<PathBuf>,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let peer = peer::read(&args.from)?;
    let holder = args.holder.read(args.input.as_deref(), ctx)?;
    let output = args.destination.create(ctx)?;
    let mut payload = content::read_trimmed(args.input.as_deref(), ctx)?;
    let answer;
    let plaintext: &[u8] = match (holder, args.nip04) {
        (Holder::Local(key), true) => nip04::Key::new(&key, &peer).decrypt(&mut payload)?,
        (Holder::Local(key), false) => Conversation::new(&key, &peer).open(&mut payload)?,
        (Holder::Remote(bunker), is_nip04) => {
            let message = Message { peer, text: content::text(&payload)? };
            let call = match is_nip04 {
                true => Call::Nip04Decrypt(message),
                false => Call::Nip44Decrypt(message),
            };
            answer = bunker.ask(ctx, async |signer, now| signer.call(&call, now).await)?;
            answer.as_bytes()
        }
    };
    let json = json::object([("content_length", plaintext.len().into())]);
    content::write(output, plaintext, false, json)
}

//! `endseal nostr unwrap`: opens a gift wrap.

use std::path::PathBuf;

use base16ct::lower::encode_string as hex;
use endseal_nostr::gift_wrap;

use super::content::{self, Destination};
use super::event;
use super::secret::KeyFile;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::{json, time};

/// Open a gift wrap and print the event in it
///
/// The event is unsigned JSON. Standard error shows its sender, who signed the layer around it.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    key: KeyFile,
    #[command(flatten)]
    destination: Destination,
    /// The gift wrap [default: standard input]
    input: Option<PathBuf>,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let key = args.key.read(args.input.as_deref(), ctx)?;
    let output = args.destination.create(ctx)?;
    let mut wrap = content::read_trimmed(args.input.as_deref(), ctx)?;
    let opened = gift_wrap::unwrap(&mut wrap, &key)?;
    let rumor = opened.rumor;
    let author = event::npub_of(&rumor.pubkey)?;
    ctx.note(&format!("from {author}"));
    if opened.expiration.is_some_and(|at| at <= ctx.now / 1000) {
        ctx.note("warning: it has expired");
    }
    let seconds = |at: u64| time::rfc3339(at.saturating_mul(1000));
    let json = json::object([
        ("id", hex(&rumor.id).into()),
        ("author", hex(&rumor.pubkey).into()),
        ("npub", author.into()),
        ("kind", rumor.kind.into()),
        ("created_at", seconds(rumor.created_at).into()),
        ("expiration", opened.expiration.map(seconds).into()),
    ]);
    content::write(output, &event::rumor_json(&rumor)?, true, json)
}

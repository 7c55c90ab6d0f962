//! `endseal nostr event`: signs, verifies and identifies events.

use std::path::PathBuf;

use base16ct::lower::encode_string as hex;
use clap::Subcommand;
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_crypto::secret::Zeroizing;
use endseal_nostr::event::{Event, Rumor, Tags, Template};
use endseal_nostr::key::{PublicKey, SigningKey};
use endseal_nostr::output::OutputTooSmall;

use super::content::{self, Destination};
use super::holder::{Holder, HolderArgs};
use super::peer::npub;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::{json, time};

/// Sign, verify and identify events (NIP-01)
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Sign an event; its JSON has at least created_at, kind, tags and content
    Sign {
        #[command(flatten)]
        holder: HolderArgs,
        /// The input is the content of an event of this kind, made now
        #[arg(long, value_name = "KIND")]
        kind: Option<u16>,
        /// Tag of that event: its name and its value; repeatable
        #[arg(long, value_name = "NAME=VALUE", requires = "kind")]
        tag: Vec<String>,
        #[command(flatten)]
        destination: Destination,
        /// The event or its content [default: standard input]
        input: Option<PathBuf>,
    },
    /// Verify id and signature of an event
    Verify {
        /// The event [default: standard input]
        input: Option<PathBuf>,
    },
    /// Print the id of an event, signed or not
    Id {
        /// The event [default: standard input]
        input: Option<PathBuf>,
    },
}

pub(super) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    match args.command {
        Command::Sign { holder, kind, tag, destination, input } => {
            let holder = holder.read(input.as_deref(), ctx)?;
            let output = destination.create(ctx)?;
            let content = content::read(input.as_deref(), ctx)?;
            let tags = tag.iter().map(|tag| pair(tag)).collect::<Result<Vec<_>, _>>()?;
            let tags: Vec<&[&str]> = tags.iter().map(|tag| &tag[..]).collect();
            let template = match kind {
                None => Template::parse(&content)?,
                Some(kind) => of_content(content::text(&content)?, kind, &tags, ctx),
            };
            let (id, event) = sign(holder, &template, ctx)?;
            let json = json::object([("id", hex(&id).into())]);
            content::write(output, &event, true, json)
        }
        Command::Verify { input } => {
            let content = content::read(input.as_deref(), ctx)?;
            let event = Event::parse(&content)?;
            let author = npub(&event.verify()?);
            let json = json::object([
                ("id", hex(&event.id).into()),
                ("author", hex(&event.pubkey).into()),
                ("npub", author.clone().into()),
                ("kind", event.kind.into()),
                ("created_at", time::rfc3339(event.created_at.saturating_mul(1000)).into()),
            ]);
            Ok(Outcome::new(format!("signed by {author}\n"), json))
        }
        Command::Id { input } => {
            let content = content::read(input.as_deref(), ctx)?;
            let template = Template::parse(&content)?;
            let author = template
                .pubkey
                .ok_or_else(|| Failure::usage("without an author (pubkey) an event has no id"))?;
            let id = hex(&template.id(&author));
            Ok(Outcome::new(format!("{id}\n"), json::object([("id", id.clone().into())])))
        }
    }
}

/// Signs an event. Returns its id and its JSON.
fn sign(
    holder: Holder,
    template: &Template<'_>,
    ctx: &mut Ctx,
) -> Result<([u8; 32], Zeroizing<Vec<u8>>), Failure> {
    match holder {
        Holder::Local(key) => {
            let mut aux = [0; 32];
            OsRandom.fill(&mut aux).map_err(|error| Failure::of(Kind::Environment, &error))?;
            let event = template.sign(&SigningKey::new(key), &aux)?;
            Ok((event.id, written(|out| event.write(out))?))
        }
        Holder::Remote(bunker) => {
            let (json, author) =
                bunker.ask(ctx, async |signer, now| signer.sign(template, now).await)?;
            ctx.detail(&format!("signed by {}", npub(&author)));
            let event = Event::parse(json.as_bytes())?;
            Ok((event.id, written(|out| event.write(out))?))
        }
    }
}

/// Makes an unsigned event with the present time.
pub(super) fn of_content<'a>(
    content: &'a str,
    kind: u16,
    tags: &'a [&'a [&'a str]],
    ctx: &Ctx,
) -> Template<'a> {
    Template {
        pubkey: None,
        created_at: ctx.now / 1000,
        kind,
        tags: Tags::List(tags),
        content: content.into(),
    }
}

fn pair(tag: &str) -> Result<[&str; 2], Failure> {
    let pair = tag.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = pair.ok_or_else(|| Failure::usage("a tag is typed as NAME=VALUE"))?;
    Ok([name, value])
}

pub(super) fn npub_of(key: &[u8; 32]) -> Result<String, Failure> {
    let key = PublicKey::from_bytes(key).map_err(|error| Failure::of(Kind::Refused, &error))?;
    Ok(npub(&key))
}

/// Returns the JSON that `write` produces. The first call measures it, and the second one writes
/// it. It may be a plaintext, and is wiped on drop.
fn written(
    write: impl Fn(&mut [u8]) -> Result<&mut [u8], OutputTooSmall>,
) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let needed = match write(&mut []) {
        Ok(_) => 0,
        Err(error) => error.needed,
    };
    let mut out = Zeroizing::new(vec![0; needed]);
    let len = write(&mut out).map_err(|error| Failure::of(Kind::Usage, &error))?.len();
    out.truncate(len);
    Ok(out)
}

/// Encodes a rumor as JSON.
pub(super) fn rumor_json(rumor: &Rumor<'_>) -> Result<Zeroizing<Vec<u8>>, Failure> {
    written(|out| rumor.write(out))
}

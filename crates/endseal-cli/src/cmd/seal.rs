//! `endseal seal`

use std::path::PathBuf;

use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_envelope::{Decoys, Sealer, Suite};
use endseal_node::FILE_CONTEXT;

use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json;
use crate::output::{AtTerminal, Input, Output};
use crate::passphrase;
use crate::progress::Progress;
use crate::recipients::{self, RecipientArgs};

/// Seal a file, or standard input, to people and groups
///
/// Only those who are named can open it, not even you: see --to-self. It is signed with your identity,
/// which the recipients see and nobody else. The length of the content shows, and the number of
/// recipients, unless --hide-count.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    recipients: RecipientArgs,
    /// Seal to yourself too
    #[arg(long, help_heading = "Recipients", conflicts_with = "anonymous")]
    to_self: bool,
    /// Seal against quantum computers too; needs the long identity of every recipient
    #[arg(long, conflicts_with = "compact")]
    pq: bool,
    /// Use 20 bytes a recipient instead of 36, with 128 bits of security
    #[arg(long)]
    compact: bool,
    /// Hide the number of recipients among 8, 16, 32, ...
    #[arg(long)]
    hide_count: bool,
    /// Sign with a key made for this file: nobody learns who sealed it, nor can rely on it
    #[arg(long)]
    anonymous: bool,
    /// Write to a file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file
    #[arg(short, long)]
    force: bool,
    /// What to seal [default: standard input]
    input: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let own = if args.to_self { Some(ctx.home()?.identity()?) } else { None };
    let own = own.as_ref().map(|file| file.public());
    let to = recipients::resolve(&args.recipients, own, ctx)?;
    if args.pq && !to.without_pq.is_empty() {
        return Err(Failure::usage(format!(
            "no post-quantum key is known of {}",
            few(&to.without_pq)
        ))
        .hint("ask for the long identity (endseal id show --pq), or seal without --pq"));
    }
    if to.duplicates > 0 {
        ctx.note(&format!("note: {} named more than once", to.duplicates));
    }
    let input = Input::open(args.input.as_deref(), ctx)?;
    let mut output = Output::create(args.output.as_deref(), args.force, AtTerminal::Refuse, ctx)?;
    let sender = if args.anonymous {
        Identity::generate(&mut OsRandom).map_err(|error| Failure::of(Kind::Environment, &error))?
    } else {
        let home = ctx.home()?;
        passphrase::unlock(ctx, &home)?
    };
    let suite = match (args.pq, args.compact) {
        (true, _) => Suite::X25519MlKem768,
        (_, true) => Suite::X25519Compact,
        _ => Suite::X25519,
    };
    let decoys = if args.hide_count { Decoys::PowerOfTwo } else { Decoys::None };
    let sealer = Sealer::new(&sender, &to.recipients)
        .context(FILE_CONTEXT)
        .time(ctx.now)
        .suite(suite)
        .decoys(decoys);
    let mut progress = Progress::new(ctx, "sealing", input.len);
    let len = endseal_node::seal(&sealer, input.reader, &mut output, &mut |at| progress.at(at))?;
    drop(progress);
    let json = json::object([
        ("content_length", len.into()),
        ("output", output.path().map(|path| path.display().to_string()).into()),
        ("output_length", sealer.sealed_len(len).ok().into()),
        ("recipients", to.recipients.len().into()),
        ("suite", suite.name().into()),
    ]);
    let data_on_stdout = output.is_stdout();
    output.commit()?;
    Ok(Outcome { data_on_stdout, ..Outcome::new("", json) })
}

/// The first names of a list that can be long.
pub(crate) fn few(names: &[String]) -> String {
    const FEW: usize = 5;
    let shown = names[..names.len().min(FEW)].join(", ");
    match names.len().saturating_sub(FEW) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

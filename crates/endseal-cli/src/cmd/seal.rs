//! `endseal seal`: seals a file.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_envelope::{Decoys, Sealer, Suite as EnvelopeSuite};
use endseal_node::FILE_CONTEXT;

use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json;
use crate::output::{AtTerminal, DASH, Input, Output};
use crate::passphrase;
use crate::printable::plural;
use crate::progress::Progress;
use crate::recipients::{self, RecipientArgs};

/// Seal a file, or standard input, to people and groups
///
/// Only the recipients can open it. You can if you add --to-self, or are a member of a group of -g.
/// Members who have left a group are no recipients. The file is signed with your identity, which
/// only the recipients see. The length of the content is visible, and so is the number of
/// recipients without --hide-count.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    recipients: RecipientArgs,
    /// Seal to yourself too
    #[arg(long, help_heading = "Recipients", conflicts_with = "anonymous")]
    to_self: bool,
    /// Suite that encrypts the content's key [default: the best for all recipients]
    ///
    /// The default is x25519-mlkem768 if the long identity of every recipient is known, otherwise
    /// x25519.
    #[arg(long, value_enum, value_name = "SUITE")]
    suite: Option<Suite>,
    /// Hide the number of recipients among 8, 16, 32, ...
    #[arg(long)]
    hide_count: bool,
    /// Sign with a key made for this file alone, so that the sender stays unknown
    ///
    /// Recipients cannot tell who sealed the file.
    #[arg(long)]
    anonymous: bool,
    /// Write to a file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file
    #[arg(short, long)]
    force: bool,
    /// The file to seal [default: standard input]
    input: Option<PathBuf>,
}

/// Cipher suites that a user can choose.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Suite {
    /// 36 bytes a recipient; not secret when quantum computers exist
    X25519,
    /// 20 bytes a recipient, with 128 bits of security; not secret when quantum computers exist
    X25519Compact,
    /// 1,124 bytes a recipient; secret while either X25519 or ML-KEM-768 holds
    #[value(name = "x25519-mlkem768")]
    X25519MlKem768,
}

impl From<Suite> for EnvelopeSuite {
    fn from(suite: Suite) -> Self {
        match suite {
            Suite::X25519 => Self::X25519,
            Suite::X25519Compact => Self::X25519Compact,
            Suite::X25519MlKem768 => Self::X25519MlKem768,
        }
    }
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let is_dash = |path: &Path| path.as_os_str() == DASH;
    if args.input.as_deref().is_none_or(is_dash)
        && args.recipients.file.iter().any(|it| is_dash(it))
    {
        return Err(Failure::usage("the recipients and the content cannot both be standard input")
            .hint("name a file for one of them"));
    }
    let own = if args.to_self {
        let home = ctx.home()?;
        Some(ctx.identity(&home)?)
    } else {
        None
    };
    for file in &args.recipients.file {
        ctx.detail(&format!("reading '{}'", file.display()));
    }
    let own = own.as_ref().map(|file| file.public());
    let to = recipients::resolve(&args.recipients, own, ctx)?;
    for named in &to.named {
        ctx.detail(&format!("recipient {named}"));
    }
    if !to.without_pq.is_empty() {
        let unknown = format!("no post-quantum key is known of {}", few(&to.without_pq));
        match args.suite {
            Some(Suite::X25519MlKem768) => return Err(Failure::usage(unknown).hint(LONG_IDENTITY)),
            None => ctx.note(&format!("note: suite x25519 is used: {unknown}")),
            Some(Suite::X25519 | Suite::X25519Compact) => {}
        }
    }
    if to.duplicates > 0 {
        ctx.note(&format!("note: {} named more than once", to.duplicates));
    }
    if own.is_none() && is_same_file(args.input.as_deref(), args.output.as_deref()) {
        return Err(Failure::usage("the sealed file would replace its content")
            .because_text("you are no recipient, and could not open it".to_owned())
            .hint("choose another name with -o, or add --to-self"));
    }
    let input = Input::open(args.input.as_deref(), ctx)?;
    let mut output = Output::create(args.output.as_deref(), args.force, AtTerminal::Refuse, ctx)?;
    let sender = if args.anonymous {
        Identity::generate(&mut OsRandom).map_err(|error| Failure::of(Kind::Environment, &error))?
    } else {
        let home = ctx.home()?;
        passphrase::unlock(ctx, &home)?
    };
    let suite = args.suite.map_or(to.recipients.suite(), EnvelopeSuite::from);
    let decoys = if args.hide_count { Decoys::PowerOfTwo } else { Decoys::None };
    let sealer = Sealer::new(&sender, &to.recipients, FILE_CONTEXT)
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
    let (data_on_stdout, path) = (output.is_stdout(), output.path());
    output.commit()?;
    let count = plural(to.recipients.len() as u64, "recipient");
    let confirmation = path.map(|path| format!("sealed to {count} in '{}'", path.display()));
    Ok(Outcome { data_on_stdout, confirmation, ..Outcome::new("", json) })
}

/// Returns true if both paths name one file that exists.
fn is_same_file(one: Option<&Path>, other: Option<&Path>) -> bool {
    let file = |path: Option<&Path>| path?.metadata().ok().map(|it| (it.dev(), it.ino()));
    file(one).is_some_and(|it| file(other) == Some(it))
}

const LONG_IDENTITY: &str =
    "ask for the long identity (endseal id show --pq), or choose another --suite";

/// Joins the first names of a list, and counts the rest.
pub(crate) fn few(names: &[String]) -> String {
    const FEW: usize = 5;
    let shown = names[..names.len().min(FEW)].join(", ");
    match names.len().saturating_sub(FEW) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
